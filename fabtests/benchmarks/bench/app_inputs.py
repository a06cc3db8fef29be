# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The applications' cases, written from scratch: a box of water for CP2K, a lid-driven cavity for
OpenFOAM's icoFoam. Small enough for a few seconds on two processors. Used by parts_apps.py."""

import math
import random

# ---- CP2K ----

SPACING = 3.105            # between molecules, Angstrom: water's density
BOND, ANGLE = 0.9572, 104.52  # of a molecule, Angstrom and degrees


def turned(generator):
    """Two directions at right angles to each other, anywhere in space."""
    z, around, spin = 2 * generator.random() - 1, *(math.tau * generator.random() for _ in "ab")
    r = math.sqrt(1 - z * z)
    axis = (r * math.cos(around), r * math.sin(around), z)
    side = (-math.sin(around), math.cos(around), 0)
    third = tuple(axis[i - 2] * side[i - 1] - axis[i - 1] * side[i - 2] for i in range(3))
    return axis, [math.cos(spin) * a + math.sin(spin) * b for a, b in zip(side, third)]


def molecules(cells):
    """Lines of the atoms of a molecule in each cell; the same ones each time."""
    generator = random.Random(1)
    half = math.radians(ANGLE / 2)
    for place in ((x, y, z) for x in range(cells[0]) for y in range(cells[1])
                  for z in range(cells[2])):
        centre = [(i + 0.5) * SPACING for i in place]
        axis, side = turned(generator)
        yield "O", centre
        for sign in (1, -1):
            yield "H", [c + BOND * (math.cos(half) * a + sign * math.sin(half) * s)
                        for c, a, s in zip(centre, axis, side)]


def water(cells, scf_steps):
    """Input of a single point of density functional theory, cut off after so many steps."""
    atoms = "\n".join("{} {:.6f} {:.6f} {:.6f}".format(name, *place)
                      for name, place in molecules(cells))
    size = " ".join(f"{n * SPACING:.4f}" for n in cells)
    return f"""&GLOBAL
 PROJECT water
 RUN_TYPE ENERGY
 PRINT_LEVEL LOW
&END GLOBAL
&FORCE_EVAL
 METHOD QUICKSTEP
 &DFT
  BASIS_SET_FILE_NAME GTH_BASIS_SETS
  POTENTIAL_FILE_NAME POTENTIAL
  &MGRID
   CUTOFF 280
  &END MGRID
  &SCF
   SCF_GUESS ATOMIC
   MAX_SCF {scf_steps}
   EPS_SCF 1.0E-7
   &OT
    PRECONDITIONER FULL_ALL
    MINIMIZER DIIS
   &END OT
   &PRINT
    &RESTART OFF
    &END RESTART
   &END PRINT
  &END SCF
  &XC
   &XC_FUNCTIONAL PADE
   &END XC_FUNCTIONAL
  &END XC
 &END DFT
 &SUBSYS
  &CELL
   ABC {size}
  &END CELL
  &COORD
{atoms}
  &END COORD
  &KIND H
   BASIS_SET DZVP-GTH
   POTENTIAL GTH-PADE-q1
  &END KIND
  &KIND O
   BASIS_SET DZVP-GTH
   POTENTIAL GTH-PADE-q6
  &END KIND
 &END SUBSYS
&END FORCE_EVAL
"""


# ---- OpenFOAM ----

STEP_S = 0.0005

CAVITY = {
    "system/blockMeshDict": ("dictionary", """
scale 0.1;
vertices ((0 0 0) (1 0 0) (1 1 0) (0 1 0) (0 0 0.1) (1 0 0.1) (1 1 0.1) (0 1 0.1));
blocks (hex (0 1 2 3 4 5 6 7) (%(cells)d %(cells)d 1) simpleGrading (1 1 1));
boundary
(
    lid { type wall; faces ((3 7 6 2)); }
    walls { type wall; faces ((0 4 7 3) (2 6 5 1) (1 5 4 0)); }
    frontAndBack { type empty; faces ((0 3 2 1) (4 5 6 7)); }
);
"""),
    "system/controlDict": ("dictionary", """
application icoFoam;
startFrom startTime;
startTime 0;
stopAt endTime;
endTime %(end).4f;
deltaT %(step)g;
writeControl timeStep;
writeInterval 100000;
runTimeModifiable false;
"""),
    "system/fvSchemes": ("dictionary", """
ddtSchemes { default Euler; }
gradSchemes { default Gauss linear; }
divSchemes { default none; div(phi,U) Gauss linear; }
laplacianSchemes { default Gauss linear orthogonal; }
interpolationSchemes { default linear; }
snGradSchemes { default orthogonal; }
"""),
    "system/fvSolution": ("dictionary", """
solvers
{
    p { solver PCG; preconditioner DIC; tolerance 1e-6; relTol 0.05; }
    pFinal { $p; relTol 0; }
    U { solver smoothSolver; smoother symGaussSeidel; tolerance 1e-5; relTol 0; }
}
PISO { nCorrectors 2; nNonOrthogonalCorrectors 0; pRefCell 0; pRefValue 0; }
"""),
    "system/decomposeParDict": ("dictionary", """
numberOfSubdomains %(parts)d;
method simple;
simpleCoeffs { n (%(parts)d 1 1); delta 0.001; }
"""),
    "constant/transportProperties": ("dictionary", "nu 0.01;\n"),
    "0/p": ("volScalarField", """
dimensions [0 2 -2 0 0 0 0];
internalField uniform 0;
boundaryField
{
    lid { type zeroGradient; }
    walls { type zeroGradient; }
    frontAndBack { type empty; }
}
"""),
    "0/U": ("volVectorField", """
dimensions [0 1 -1 0 0 0 0];
internalField uniform (0 0 0);
boundaryField
{
    lid { type fixedValue; value uniform (1 0 0); }
    walls { type noSlip; }
    frontAndBack { type empty; }
}
"""),
}


def cavity(folder, cells, steps, parts):
    """A case in the folder, CELLS by CELLS, to be divided into PARTS strips."""
    values = {"cells": cells, "end": steps * STEP_S, "step": STEP_S, "parts": parts}
    for name, (kind, text) in CAVITY.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"FoamFile {{ version 2.0; format ascii; class {kind}; object "
                        f"{path.name}; }}\n" + text % values, encoding="ascii")
