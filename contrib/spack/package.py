# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A recipe for Spack: put this file into a repository of packages as packages/gamma/package.py,
name the folder of the release archives in it, and call `spack install gamma`."""

# Spack's module is there only while Spack runs.
# pylint: disable=import-error,wildcard-import,unused-wildcard-import,undefined-variable
from spack.package import *


class Gamma(AutotoolsPackage):
    """Messages between the hosts of a cluster in raw Ethernet frames: a provider for libfabric and
    a component for Open MPI."""

    # Where the archive is: a folder of the site, as long as no server has it.
    url = "file:///opt/archives/gamma-0.2.0.tar.gz"
    license("BSD-2-Clause OR GPL-2.0-only")

    # `spack checksum gamma` prints the line with the sum of the archive in that folder.
    version("0.2.0")

    # It needs Open MPI's headers for components: an Open MPI configured with --with-devel-headers.
    variant("openmpi", default=False, description="Build the component for Open MPI")
    variant("gammad", default=False,
            description="Build the daemon for ordinary users; administrators install it on hosts")

    depends_on("c", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libfabric@1.17:")
    depends_on("libmnl")
    depends_on("hwloc@2:")
    depends_on("openmpi@4.1:5.0 fabrics=ofi", when="+openmpi")
    depends_on("libbpf@1:", when="+gammad")
    conflicts("target=ppc64le:", msg="gamma is for x86-64 and ARM64")

    def configure_args(self):
        """Everything below the prefix: Spack's libfabric has a folder of its own."""
        provider = f"{self.prefix.lib}/libfabric"
        args = [f"--with-providerdir={provider}", "--disable-lab"]
        args += self.enable_or_disable("gammad")
        if self.spec.satisfies("+openmpi"):
            args.append(f"--with-openmpi={self.spec['openmpi'].prefix}")
            args.append(f"--with-openmpi-componentdir={self.prefix.lib}/openmpi")
        else:
            args.append("--without-openmpi")
        return args

    def setup_run_environment(self, env):
        """Both libraries look into folders that variables name."""
        env.set("FI_PROVIDER_PATH", f"{self.prefix.lib}/libfabric")
        if self.spec.satisfies("+openmpi"):
            env.set("OMPI_MCA_mca_base_component_path",
                    f"{self.prefix.lib}/openmpi:{self.spec['openmpi'].prefix.lib}/openmpi")
