-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
--
-- GAMMA for Wireshark and tshark: dissects the frames that doc/protocol.md specifies, follows the
-- flows, and reassembles messages. doc/captures.md explains its use. The tables below repeat
-- common/wire/wire.h; fabtests/unit/test_dissector.py holds the two together.
--
-- A frame with a wrong checksum is shown but does not change the state of its flow. Sequence
-- numbers and times are those of the capture, so a capture at the receiver shows its view.

local gamma = Proto("gamma", "GAMMA messages over raw Ethernet")
local xor = (bit or bit32).bxor
local band = (bit or bit32).band
local shift_right = (bit or bit32).rshift

-- ---- the protocol's tables ----

local VERSION = 1
local ETHERTYPE = 0x88B5
local HEADER_LEN = 32
local FIRST_CREDIT = 8 -- frames
local WINDOW_MAX = 1024 -- frames

local KINDS = {
	[1] = "DATA",
	[2] = "ACK",
	[3] = "CREDIT",
	[4] = "REQUEST",
	[5] = "RECLAIM",
	[6] = "PROBE",
	[7] = "RESET",
	[8] = "BYE",
	[9] = "LOOKUP",
	[10] = "DATAGRAM",
}

-- By kind.
local OPS = {
	DATA = {
		[1] = "SEND",
		[2] = "SEND_FIRST",
		[3] = "SEND_MORE",
		[4] = "ANNOUNCE",
		[5] = "ACCEPT",
		[6] = "BULK",
		[7] = "CUT",
		[8] = "BATCH",
		[9] = "WRITE",
		[10] = "READ",
		[11] = "REPLY",
		[12] = "ATOMIC",
		[13] = "FETCH",
		[14] = "COMPARE",
		[15] = "FAILED",
	},
	ACK = { [0] = "PLAIN", [1] = "PROBED", [2] = "RAIL", [3] = "RAILS" },
	RECLAIM = { [0] = "ASK", [1] = "ANSWER" },
	BYE = { [0] = "ASK", [1] = "ANSWER" },
	PROBE = { [0] = "PLAIN", [1] = "MTU", [2] = "RAIL", [3] = "RAILS" },
	LOOKUP = { [0] = "ASK", [1] = "FOUND", [2] = "NO_PORT", [3] = "OTHER_TENANT",
		[4] = "HOST_ASK", [5] = "HOST", [6] = "HOST_VIA" },
	RESET = { [0] = "EPOCH", [1] = "CLOSED", [2] = "REVOKED", [3] = "NIC" },
}

local REFUSALS = {
	[1] = "KEY",
	[2] = "BOUNDS",
	[3] = "ACCESS",
	[4] = "UNSUPPORTED",
	[5] = "ALIGNMENT",
}

local FLAGS = {
	[0] = "ACK_REQUESTED",
	[1] = "AGAIN",
	[2] = "BACKLOG",
	[3] = "WANT_CRC",
	[4] = "PORT",
	[5] = "RAIL",
}

-- By bit: name, bytes, and fields in order with their bytes.
local EXTENSIONS = {
	[0] = { "ACK", 8, { { "ack", 4 }, { "limit", 4 } } },
	[1] = { "SACK", 20, { { "base", 4 }, { "bits", 16 } } },
	[2] = { "DELAY", 8, { { "echo", 4 }, { "delay", 4 } } },
	[3] = { "TAG", 8, { { "tag", 8 } } },
	[4] = { "CQ_DATA", 8, { { "data", 8 } } },
	[5] = { "MESSAGE", 12, { { "id", 4 }, { "length", 8 } } },
	[6] = { "FRAGMENT", 8, { { "fragment", 8 } } },
	[7] = { "PAYLOAD_CRC", 4, { { "crc", 4 } } },
	[8] = { "MTU", 4, { { "mtu", 2 }, { "probe", 2 } } },
	[9] = { "CUTS", 4, { { "cuts", 4 } } },
	[10] = { "RMA", 24, { { "address", 8 }, { "key", 8 }, { "length", 8 } } },
	[11] = { "ATOMIC", 4, { { "datatype", 1 }, { "op", 1 }, { "count", 2 } } },
	[12] = { "KEY", 16, { { "code", 16 } } },
	[13] = { "PART", 4, { { "offset", 2 }, { "total", 2 } } },
	[14] = { "SACK_LONG", 132, { { "base", 4 }, { "bits", 128 } } },
}

local DATATYPES = {
	[0] = "INT8",
	[1] = "UINT8",
	[2] = "INT16",
	[3] = "UINT16",
	[4] = "INT32",
	[5] = "UINT32",
	[6] = "INT64",
	[7] = "UINT64",
	[8] = "FLOAT",
	[9] = "DOUBLE",
	[10] = "FLOAT_COMPLEX",
	[11] = "DOUBLE_COMPLEX",
	[12] = "LONG_DOUBLE",
	[13] = "LONG_DOUBLE_COMPLEX",
	[14] = "INT128",
	[15] = "UINT128",
}

local ATOMIC_OPS = {
	[0] = "MIN",
	[1] = "MAX",
	[2] = "SUM",
	[3] = "PROD",
	[4] = "LOR",
	[5] = "LAND",
	[6] = "BOR",
	[7] = "BAND",
	[8] = "LXOR",
	[9] = "BXOR",
	[10] = "READ",
	[11] = "WRITE",
	[12] = "CSWAP",
	[13] = "CSWAP_NE",
	[14] = "CSWAP_LE",
	[15] = "CSWAP_LT",
	[16] = "CSWAP_GE",
	[17] = "CSWAP_GT",
	[18] = "MSWAP",
	[19] = "DIFF",
}

-- Offsets in the base header.
local HEADER = {
	dst_port = 0,
	src_port = 2,
	tenant = 4,
	version_kind = 8,
	op = 9,
	header_len = 10,
	flags = 11,
	extensions = 12,
	payload_len = 14,
	src_epoch = 16,
	dst_epoch = 20,
	seq = 24,
	checksum = 28,
}

-- Offsets in an address.
local ADDRESS = { mac = 0, port = 6, epoch = 8, version = 12, contexts = 13, mtu = 14, host = 16 }
local ADDRESS_LEN = 24

-- Offsets in what gammad answers of its host.
local HOST = {
	mac = 0,
	mtu = 6,
	speed = 8,
	version = 12,
	release = 13,
	slots = 16,
	endpoints = 18,
	host = 20,
	nic = 28,
	name = 44,
}
local HOST_LEN = 108

-- Offsets in the TAG of a message to an active port.
local ACTIVE_PORT = { port = 0, head_len = 2, arg = 4 }

-- Offsets in the list of an endpoint's rails.
local RAILS = { count = 0, udp = 1, down = 2, zero = 3, rails = 4 }
local RAILS_MAX = 4
local RAIL_LEN = 8

-- Extensions that an item of a BATCH always has, by its op; TAG and CQ_DATA are named in the item.
local ITEMS = {
	SEND = {},
	WRITE = { "RMA" },
	READ = { "FRAGMENT", "RMA" },
	REPLY = { "FRAGMENT" },
	ATOMIC = { "RMA", "ATOMIC" },
	FETCH = { "FRAGMENT", "RMA", "ATOMIC" },
	COMPARE = { "FRAGMENT", "RMA", "ATOMIC" },
}
local ITEM_LEN = 4

-- ---- preferences ----

gamma.prefs.ethertype = Pref.uint("EtherType", ETHERTYPE, "As FI_GAMMA_ETHERTYPE")
gamma.prefs.checksum = Pref.bool("Verify checksums", true, "CRC32C of header and payload")
gamma.prefs.reassemble =
	Pref.uint("Longest message reassembled (bytes)", 1048576, "0: reassemble none")

-- ---- fields ----

local fields = {}
gamma.fields = {}

local function declare(key, make, ...)
	fields[key] = make(...)
	gamma.fields[#gamma.fields + 1] = fields[key]
end

local function declare_header()
	declare("dst_port", ProtoField.uint16, "gamma.dst_port", "Destination port")
	declare("src_port", ProtoField.uint16, "gamma.src_port", "Source port")
	declare("tenant", ProtoField.uint32, "gamma.tenant", "Tenant (user id)")
	declare("version", ProtoField.uint8, "gamma.version", "Version", base.DEC, nil, 0xf0)
	declare("kind", ProtoField.uint8, "gamma.kind", "Kind", base.DEC, KINDS, 0x0f)
	declare("op", ProtoField.uint8, "gamma.op", "Operation")
	declare("op_name", ProtoField.string, "gamma.op.name", "Operation")
	declare("header_len", ProtoField.uint8, "gamma.header_len", "Header length")
	declare("flags", ProtoField.uint8, "gamma.flags", "Flags", base.HEX)
	for index = 0, #FLAGS do
		declare("flag_" .. FLAGS[index], ProtoField.bool, "gamma.flags." .. FLAGS[index]:lower(),
			FLAGS[index], 8, nil, 2 ^ index)
	end
	declare("extensions", ProtoField.uint16, "gamma.extensions", "Extensions", base.HEX)
	declare("payload_len", ProtoField.uint16, "gamma.payload_len", "Payload length")
	declare("src_epoch", ProtoField.uint32, "gamma.src_epoch", "Source epoch", base.HEX)
	declare("dst_epoch", ProtoField.uint32, "gamma.dst_epoch", "Destination epoch", base.HEX)
	declare("seq", ProtoField.uint32, "gamma.seq", "Number")
	declare("checksum", ProtoField.uint32, "gamma.checksum", "Checksum", base.HEX)
	declare("checksum_status", ProtoField.string, "gamma.checksum.status", "Checksum status")
	declare("payload", ProtoField.bytes, "gamma.payload", "Payload")
	declare("padding", ProtoField.bytes, "gamma.padding", "Padding")
end

local function declare_extension(extension)
	local name = extension[1]
	declare("ext_" .. name, ProtoField.none, "gamma." .. name:lower(), "Extension " .. name)
	for _, field in ipairs(extension[3]) do
		local key = "gamma." .. name:lower() .. "." .. field[1]
		local label = name .. "." .. field[1]
		if field[2] == 1 then
			local values = field[1] == "datatype" and DATATYPES or ATOMIC_OPS
			declare(label, ProtoField.uint8, key, label, base.DEC, values)
		elseif field[2] == 2 then
			declare(label, ProtoField.uint16, key, label)
		elseif field[2] == 4 then
			declare(label, ProtoField.uint32, key, label, name == "PAYLOAD_CRC" and base.HEX or base.DEC)
		elseif field[2] == 8 then
			declare(label, ProtoField.uint64, key, label,
				field[1] == "length" and base.DEC or base.HEX)
		else
			declare(label, ProtoField.bytes, key, label)
		end
	end
end

local function declare_rest()
	declare("fragment_id", ProtoField.uint32, "gamma.fragment.id", "FRAGMENT id")
	declare("fragment_offset", ProtoField.uint64, "gamma.fragment.offset", "FRAGMENT offset")
	declare("rma_more", ProtoField.bool, "gamma.rma.more", "Another segment follows (RMA_MORE)")
	declare("rma_continues", ProtoField.bool, "gamma.rma.continues",
		"Not the first segment (RMA_CONTINUES)")
	declare("cause", ProtoField.uint64, "gamma.cause", "Cause", base.DEC)
	declare("missing", ProtoField.uint32, "gamma.sack.missing", "Frames reported missing")
	declare("active_port", ProtoField.uint16, "gamma.active_port", "Active port")
	declare("active_port_head_len", ProtoField.uint8, "gamma.active_port.head_len", "Length of the head")
	declare("active_port_arg", ProtoField.uint32, "gamma.active_port.arg", "Argument", base.HEX)
	declare("active_port_head", ProtoField.bytes, "gamma.active_port.head", "Head")
	declare("item", ProtoField.none, "gamma.item", "Item of a batch")
	declare("item_len", ProtoField.uint16, "gamma.item.length", "Payload length")
	declare("item_extensions", ProtoField.uint8, "gamma.item.extensions", "Extensions", base.HEX)
	declare("item_op", ProtoField.uint8, "gamma.item.op", "Operation", base.DEC, OPS.DATA)
	declare("address", ProtoField.none, "gamma.address", "Address")
	declare("address_mac", ProtoField.ether, "gamma.address.mac", "MAC")
	declare("address_port", ProtoField.uint16, "gamma.address.port", "Port")
	declare("address_epoch", ProtoField.uint32, "gamma.address.epoch", "Epoch", base.HEX)
	declare("address_version", ProtoField.uint8, "gamma.address.version", "Layout version")
	declare("address_contexts", ProtoField.uint8, "gamma.address.contexts", "Contexts", base.HEX)
	declare("address_mtu", ProtoField.uint16, "gamma.address.mtu", "MTU")
	declare("address_host", ProtoField.uint64, "gamma.address.host", "Host identity", base.HEX)
	declare("host", ProtoField.none, "gamma.host", "Host")
	declare("host_mac", ProtoField.ether, "gamma.host.mac", "MAC of the NIC")
	declare("host_mtu", ProtoField.uint16, "gamma.host.mtu", "MTU of the NIC")
	declare("host_speed", ProtoField.uint32, "gamma.host.speed", "Speed of the NIC (Mbit/s)")
	declare("host_version", ProtoField.uint8, "gamma.host.version", "Layout version")
	declare("host_release", ProtoField.bytes, "gamma.host.release", "Release")
	declare("host_slots", ProtoField.uint16, "gamma.host.slots", "Slots")
	declare("host_endpoints", ProtoField.uint16, "gamma.host.endpoints", "Endpoints")
	declare("host_host", ProtoField.uint64, "gamma.host.identity", "Host identity", base.HEX)
	declare("host_nic", ProtoField.string, "gamma.host.nic", "NIC")
	declare("host_name", ProtoField.string, "gamma.host.name", "Name")
	declare("address_ipv4", ProtoField.ipv4, "gamma.address.ipv4", "IPv4 address")
	declare("address_ipv6", ProtoField.ipv6, "gamma.address.ipv6", "IPv6 address")
	declare("via_mac", ProtoField.ether, "gamma.via.mac", "Host to ask")
	declare("rail_count", ProtoField.uint8, "gamma.rails.count", "Rails")
	declare("rail_udp", ProtoField.uint8, "gamma.rails.udp", "Those over UDP", base.HEX)
	declare("rail_down", ProtoField.uint8, "gamma.rails.down", "Those without carrier", base.HEX)
	declare("rail_mac", ProtoField.ether, "gamma.rails.mac", "MAC of a rail")
	declare("rail_mtu", ProtoField.uint16, "gamma.rails.mtu", "MTU of a rail")
end

local function declare_analysis()
	declare("stream", ProtoField.uint32, "gamma.stream", "Conversation")
	declare("src", ProtoField.string, "gamma.src", "Source endpoint")
	declare("dst", ProtoField.string, "gamma.dst", "Destination endpoint")
	declare("relative", ProtoField.uint32, "gamma.seq.relative", "Number in this capture")
	declare("rtt", ProtoField.double, "gamma.analysis.rtt", "Time to acknowledge (s)")
	declare("network_rtt", ProtoField.double, "gamma.analysis.network_rtt",
		"Round trip without the receiver's delay (s)")
	declare("acks", ProtoField.framenum, "gamma.analysis.acks", "Acknowledges the DATA in",
		base.NONE, frametype.ACK)
	declare("first", ProtoField.framenum, "gamma.analysis.first", "First transmitted in")
	declare("question", ProtoField.framenum, "gamma.analysis.question", "Answers the question in",
		base.NONE, frametype.RESPONSE)
	declare("answer_time", ProtoField.double, "gamma.analysis.answer_time", "Time to answer (s)")
	declare("credit", ProtoField.uint32, "gamma.analysis.credit", "Credit left (frames)")
	declare("flight", ProtoField.uint32, "gamma.analysis.in_flight", "Frames in flight")
	declare("stall", ProtoField.double, "gamma.analysis.stall", "Waited for credit (s)")
	declare("marks", ProtoField.uint32, "gamma.analysis.marks", "DATA frames that came marked (ECN)")
	declare("message_length", ProtoField.uint64, "gamma.message.total", "Message length")
	declare("message_frame", ProtoField.framenum, "gamma.message.frame", "Part of the message in")
	declare("message_data", ProtoField.bytes, "gamma.message.bytes", "Reassembled message")
end

declare_header()
for index = 0, #EXTENSIONS do
	declare("has_" .. EXTENSIONS[index][1], ProtoField.bool,
		"gamma.extensions." .. EXTENSIONS[index][1]:lower(), EXTENSIONS[index][1], 16, nil, 2 ^ index)
	declare_extension(EXTENSIONS[index])
end
declare_rest()
declare_analysis()

-- ---- expert notes ----

local experts = {}
gamma.experts = {}

local function declare_expert(key, text, group, severity)
	experts[key] = ProtoExpert.new("gamma.expert." .. key, text, group, severity)
	gamma.experts[#gamma.experts + 1] = experts[key]
end

declare_expert("malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR)
declare_expert("version", "Another version", expert.group.PROTOCOL, expert.severity.ERROR)
declare_expert("checksum", "Wrong checksum", expert.group.CHECKSUM, expert.severity.ERROR)
declare_expert("short_capture", "Not all captured", expert.group.UNDECODED, expert.severity.NOTE)
declare_expert("retransmission", "Retransmission", expert.group.SEQUENCE, expert.severity.NOTE)
declare_expert("spurious", "Spurious retransmission", expert.group.SEQUENCE, expert.severity.WARN)
declare_expert("gap", "Gap", expert.group.SEQUENCE, expert.severity.WARN)
declare_expert("early", "Out of order", expert.group.SEQUENCE, expert.severity.NOTE)
declare_expert("missing", "Missing at the receiver", expert.group.SEQUENCE, expert.severity.NOTE)
declare_expert("unseen", "Acknowledges what was not captured", expert.group.SEQUENCE,
	expert.severity.WARN)
declare_expert("window", "Beyond the window", expert.group.SEQUENCE, expert.severity.WARN)
declare_expert("overrun", "Beyond the credit", expert.group.SEQUENCE, expert.severity.WARN)
declare_expert("stall", "Credit stall", expert.group.SEQUENCE, expert.severity.NOTE)
declare_expert("marked", "Congestion", expert.group.SEQUENCE, expert.severity.NOTE)
declare_expert("reclaim", "Credit returned", expert.group.SEQUENCE, expert.severity.CHAT)
declare_expert("probe", "Probe", expert.group.SEQUENCE, expert.severity.NOTE)
declare_expert("unanswered", "Probe repeated", expert.group.SEQUENCE, expert.severity.WARN)
declare_expert("demotion", "Message demoted", expert.group.SEQUENCE, expert.severity.NOTE)
declare_expert("refused", "Remote operation refused", expert.group.RESPONSE_CODE,
	expert.severity.WARN)
declare_expert("reset", "Flow reset", expert.group.SEQUENCE, expert.severity.WARN)
declare_expert("bye", "Flow ends", expert.group.SEQUENCE, expert.severity.CHAT)
declare_expert("nobody", "No endpoint for the sender", expert.group.RESPONSE_CODE,
	expert.severity.WARN)

-- ---- numbers ----

local CYCLE = 4294967296

-- How far number a is ahead of b.
local function ahead(a, b)
	return (a - b) % CYCLE
end

local function before(a, b)
	return ahead(a, b) >= CYCLE / 2
end

local crc_table = {}
for index = 0, 255 do
	local crc = index
	for _ = 1, 8 do
		local odd = crc % 2 == 1
		crc = shift_right(crc, 1) % CYCLE
		if odd then
			crc = xor(crc, 0x82F63B78) % CYCLE
		end
	end
	crc_table[index] = crc
end

-- CRC32C of a string of bytes.
local function crc32c(bytes)
	local crc = CYCLE - 1
	for index = 1, #bytes do
		local at = band(xor(crc, bytes:byte(index)), 255) % 256
		crc = xor(math.floor(crc / 256), crc_table[at]) % CYCLE
	end
	return CYCLE - 1 - crc
end

local function microseconds(seconds)
	return string.format("%.1f us", seconds * 1e6)
end

-- ---- state of a capture ----

local directions -- by "source destination": one direction of a flow
local streams, stream_count -- numbers of conversations, by their two ends
local lookups -- questions, by epoch and number
local notes -- what the analysis has found, by frame

local function forget_all()
	directions, streams, stream_count, lookups, notes = {}, {}, 0, {}, {}
end
forget_all()

function gamma.init()
	forget_all()
end

local function stream_of(source, destination)
	local key = source < destination and source .. " " .. destination
		or destination .. " " .. source
	if not streams[key] then
		streams[key] = stream_count
		stream_count = stream_count + 1
	end
	return streams[key]
end

local function direction_of(source, destination)
	local key = source .. " " .. destination
	if not directions[key] then
		directions[key] = {
			sent = {}, -- by number: where and when a frame was transmitted first, and how often
			messages = {}, -- unfinished ones, by operation and id
			parts = {}, -- of frames sent in parts, by number
			probes = {}, -- by number
			announced = {}, -- messages of this direction, by the sender's id
		}
	end
	return directions[key]
end

local function note_expert(note, key, text)
	note.experts[#note.experts + 1] = { key, text }
end

local function note_value(note, key, value)
	note.values[#note.values + 1] = { key, value }
end

-- ---- analysis: DATA ----

-- What was acknowledged more than a window ago; all, if that is too much to look at one by one.
local function forget_old(flow)
	local old = ahead(flow.una, flow.oldest) - WINDOW_MAX
	if before(flow.una, flow.oldest) or old <= 0 then
		return
	elseif old > 4 * WINDOW_MAX then
		flow.sent, flow.oldest = {}, flow.una
		return
	end
	for number = 0, old - 1 do
		flow.sent[(flow.oldest + number) % CYCLE] = nil
	end
	flow.oldest = (flow.oldest + old) % CYCLE
end

-- A flow begins at a random multiple of the window (section 4). A capture that begins later counts
-- from the first number in it.
local function begin_numbers(flow, f)
	local from_start = not flow.limit and f.seq % WINDOW_MAX < FIRST_CREDIT
	local first = from_start and f.seq - f.seq % WINDOW_MAX or f.seq
	flow.base, flow.next, flow.una, flow.oldest = first, f.seq, f.seq, f.seq
	if from_start then
		flow.limit = (first + FIRST_CREDIT) % CYCLE
	end
end

-- A number as people are shown it: relative to the flow's first one, if that was captured.
local function shown(flow, number)
	if not flow.base or before(number, flow.base) then
		return number
	end
	return ahead(number, flow.base)
end

-- A number that was transmitted before. True if the payload is known, too.
local function note_repeated(flow, f, note, sent)
	local same_part = sent.parts[f.part_offset or -1]
	sent.parts[f.part_offset or -1] = true
	if f.part_total and not same_part and not f.flags.AGAIN then
		return false
	end
	sent.count = sent.count + 1
	note_value(note, "first", sent.number)
	note_expert(note, "retransmission", string.format("retransmission of number %u, %s after the last",
		shown(flow, f.seq), microseconds(f.time - sent.last)))
	if sent.acked then
		note_expert(note, "spurious", "retransmission of what this capture shows acknowledged")
	end
	sent.last, flow.retransmissions = f.time, (flow.retransmissions or 0) + 1
	return same_part
end

local function note_new(flow, f, note)
	local skipped = ahead(f.seq, flow.next)
	if before(f.seq, flow.next) then
		note_expert(note, f.flags.AGAIN and "retransmission" or "early", f.flags.AGAIN
			and "retransmission; the first transmission was not captured"
			or "fills a gap: out of order in this capture")
	else
		if skipped > 0 then
			note_expert(note, "gap", string.format("%u frames from number %u on were not captured",
				skipped, shown(flow, flow.next)))
		elseif f.flags.AGAIN then
			note_expert(note, "retransmission", "retransmission; the first transmission was not captured")
		end
		flow.next = (f.seq + 1) % CYCLE
	end
	if ahead(f.seq, flow.una) >= WINDOW_MAX and not before(f.seq, flow.una) then
		note_expert(note, "window", "further ahead of the acknowledgement than the window")
	end
	flow.sent[f.seq] = { number = f.number, time = f.time, last = f.time, count = 1,
		parts = { [f.part_offset or -1] = true } }
end

local function note_credit(flow, f, note)
	local after = (f.seq + 1 + (flow.returned or 0)) % CYCLE
	if not flow.limit or flow.next ~= (f.seq + 1) % CYCLE then
		return
	end
	if before(flow.limit, after) then
		note_expert(note, "overrun", string.format("number %u is beyond the limit %u",
			shown(flow, f.seq), shown(flow, flow.limit)))
		return
	end
	local left = ahead(flow.limit, after)
	note_value(note, "credit", left)
	if left == 0 and f.flags.BACKLOG then
		flow.stalled = flow.stalled or f.time
		note_expert(note, "stall", "the last frame that the credit allows, and more waits")
	end
end

-- True if its payload has not been seen before.
local function analyse_data(flow, f, note)
	local known
	if not flow.next then
		begin_numbers(flow, f)
	end
	local sent = flow.sent[f.seq]
	if sent then
		known = note_repeated(flow, f, note, sent)
	elseif before(f.seq, flow.una) then
		known = true
		note_expert(note, "retransmission", "of a number that was acknowledged long before")
	else
		note_new(flow, f, note)
		note_credit(flow, f, note)
	end
	note.number = shown(flow, f.seq)
	note_value(note, "relative", note.number)
	note_value(note, "flight", before(flow.next, flow.una) and 0 or ahead(flow.next, flow.una))
	return not known
end

-- ---- analysis: acknowledgement and credit ----

-- Flow is the direction whose DATA is acknowledged.
local function analyse_ack(flow, f, note)
	local last = flow.sent[(f.ack - 1) % CYCLE]
	if flow.next and before(flow.next, f.ack) then
		note_expert(note, "unseen", string.format(
			"acknowledges up to number %u; the last one captured is %u", shown(flow, f.ack),
			shown(flow, (flow.next - 1) % CYCLE)))
		flow.next = f.ack
	end
	if last and not last.acked then
		note_value(note, "acks", last.number)
		if last.count == 1 then
			note_value(note, "rtt", f.time - last.time)
		end
	end
	if flow.una and before(flow.una, f.ack) then
		for number = 0, math.min(ahead(f.ack, flow.una), WINDOW_MAX) - 1 do
			local sent = flow.sent[(flow.una + number) % CYCLE]
			if sent then
				sent.acked = true
			end
		end
		flow.una = f.ack
		forget_old(flow)
	end
	if not flow.limit or before(flow.limit, f.limit) then
		flow.limit = f.limit
		if flow.stalled then
			note_value(note, "stall", f.time - flow.stalled)
			flow.stalled = nil
		end
	end
end

local function analyse_delay(flow, f, note)
	local sent = flow.sent[f.echo]
	if sent and sent.count == 1 and f.delay < CYCLE - 1 then
		note_value(note, "network_rtt", f.time - sent.time - f.delay / 1e9)
	end
end

local function analyse_sack(flow, f, note)
	if f.missing > 0 then
		note_value(note, "missing", f.missing)
		note_expert(note, "missing", string.format("%u frames are missing from number %u on",
			f.missing, shown(flow, f.ack or f.sack_base)))
	end
end

-- ---- analysis: other kinds ----

local kinds = {}

function kinds.REQUEST(f, note, out)
	note_expert(note, "stall", "the sender waits for credit and asks for it")
	out.stalled = out.stalled or f.time
end

function kinds.RECLAIM(f, note, out)
	if f.op == 0 then
		note_expert(note, "reclaim", "the receiver wants unused credit back")
		return
	end
	note_expert(note, "reclaim", string.format("%u frames of credit returned since the beginning", f.seq))
	if not out.returned or before(out.returned, f.seq) then
		out.returned = f.seq
	end
end

-- By the operation of the question.
local SERIES = { [0] = "", [1] = "MTU ", [2] = "rail ", [3] = "rails " }

function kinds.PROBE(f, note, out)
	local series = SERIES[f.op] or ""
	note_expert(note, "probe", f.op == 1
		and string.format("asks whether frames of %u bytes pass", f.mtu_probe or 0)
		or f.op == 2 and "asks whether this rail passes frames"
		or f.op == 3 and "lists the own rails and asks for the peer's"
		or "nothing was heard in time: asks which frames have arrived")
	if out.probing and out.probing[1] == series then
		note_expert(note, "unanswered", string.format("the probe in frame %u has no answer",
			out.probing[2]))
	end
	out.probing = { series, f.number }
	out.probes[series .. f.seq] = { f.number, f.time }
end

local function note_answer(f, note, question)
	if question then
		note_value(note, "question", question[1])
		note_value(note, "answer_time", f.time - question[2])
	end
end

-- A peer with one rail takes questions about rails for plain ones.
function kinds.ACK(f, note, _, back)
	local asked = f.op > 1 and (SERIES[f.op] or "") or f.mtu_probe and f.mtu_probe > 0 and "MTU " or ""
	if f.op > 0 then
		note_answer(f, note, back.probes[asked .. f.seq] or back.probes["rails " .. f.seq]
			or back.probes["rail " .. f.seq])
		back.probing = nil
	end
	if f.op == 0 and f.seq > 0 then
		note_value(note, "marks", f.seq - 1)
		if f.seq > 1 and f.seq ~= back.marks then
			note_expert(note, "marked", "a router has marked DATA because of congestion")
		end
		back.marks = f.seq
	end
	if f.flags.AGAIN then
		note_expert(note, "spurious", "the receiver reports a retransmission of what it had")
	end
end

function kinds.RESET(f, note)
	note_expert(note, "reset", f.op == 1 and "the flow has ended at its sender"
		or f.op == 2 and "the endpoint is revoked"
		or f.op == 3 and "the MTU of its sender's NIC is too small" or "the epoch is not this endpoint's")
end

function kinds.BYE(f, note)
	note_expert(note, "bye", f.op == 1 and "answer to BYE" or "the endpoint closes")
end

function kinds.LOOKUP(f, note)
	if f.op == 0 or f.op == 4 or f.op == 6 then
		lookups[f.src_epoch .. "/" .. f.seq] = { f.number, f.time }
		return
	end
	note_answer(f, note, lookups[f.dst_epoch .. "/" .. f.seq])
	if f.op == 2 then
		note_expert(note, "nobody", "no endpoint has that port")
	elseif f.op == 3 then
		note_expert(note, "nobody", "the port belongs to another user")
	end
end

-- ---- messages of several frames ----

local function open_message(flow, key, f, total)
	local message = flow.messages[key]
	if not message or message.seq ~= f.seq then
		message = { seq = f.seq, total = total, have = 0, pieces = {}, frames = {} }
		flow.messages[key] = message
	end
	return message
end

local function add_piece(message, f, offset, bytes, len, note)
	if message.bytes or message.pieces[offset] or message.total > gamma.prefs.reassemble then
		return
	end
	if not bytes or #bytes < len or offset + len > message.total then
		message.damaged = true
		return
	end
	message.pieces[offset] = bytes
	message.frames[#message.frames + 1] = f.number
	message.have = message.have + len
	if message.have < message.total or message.damaged then
		return
	end
	local offsets, whole, at = {}, {}, 0
	for from in pairs(message.pieces) do
		offsets[#offsets + 1] = from
	end
	table.sort(offsets)
	for _, from in ipairs(offsets) do
		if from ~= at then -- pieces that overlap are not of this message
			message.damaged = true
			return
		end
		whole[#whole + 1] = message.pieces[from]
		at = at + #message.pieces[from]
	end
	message.bytes, message.pieces = table.concat(whole), {}
	note.message = message
	for _, number in ipairs(message.frames) do
		if notes[number] and number ~= f.number then
			note_value(notes[number], "message_frame", f.number)
		end
	end
end

local function join(flow, f, key, bytes, note)
	local message = flow.messages[key]
	if message then
		add_piece(message, f, f.fragment_offset, bytes, #(bytes or ""), note)
	end
end

local ops = {}

function ops.SEND_FIRST(flow, _, f, bytes, note)
	if f.message_id then
		add_piece(open_message(flow, "eager " .. f.message_id, f, f.message_length), f, 0, bytes,
			#(bytes or ""), note)
	end
end

function ops.SEND_MORE(flow, _, f, bytes, note)
	join(flow, f, "eager " .. (f.fragment_id or 0), bytes, note)
end

function ops.ANNOUNCE(flow, _, f)
	if f.message_id then
		flow.announced[f.message_id] = f.number
	end
end

-- The bytes come in the other direction, with the id that ACCEPT names.
function ops.ACCEPT(_, back, f, _, note)
	if f.message_id and f.fragment_id then
		open_message(back, "bulk " .. f.fragment_id, f, f.message_length)
		if back.announced[f.message_id] then
			note_value(note, "question", back.announced[f.message_id])
		end
	end
end

function ops.BULK(flow, _, f, bytes, note)
	join(flow, f, "bulk " .. (f.fragment_id or 0), bytes, note)
end

function ops.CUT(_, _, _, _, note)
	note_expert(note, "demotion", "the receiver kept the envelope only; the message is fetched later")
end

function ops.READ(flow, _, f)
	if f.fragment_id and f.fragment_offset == 0 then
		flow.announced["read " .. f.fragment_id] = f.number
	end
end
ops.FETCH = ops.READ
ops.COMPARE = ops.READ

function ops.REPLY(_, back, f, _, note)
	if f.fragment_id and back.announced["read " .. f.fragment_id] then
		note_value(note, "question", back.announced["read " .. f.fragment_id])
	end
end

function ops.FAILED(_, _, f, _, note)
	note_expert(note, "refused", "remote operation refused: " ..
		(REFUSALS[f.message_length] or "UNSUPPORTED"))
end

-- A frame's payload; of one that was sent in parts, once all have arrived.
local function whole_payload(flow, f, note)
	if not f.part_total then
		return f.payload
	end
	local parts = flow.parts[f.seq]
	if not parts or parts.total ~= f.part_total then
		parts = { total = f.part_total, have = 0, pieces = {}, frames = {} }
		flow.parts[f.seq] = parts
	end
	add_piece(parts, f, f.part_offset, f.payload, #(f.payload or ""), note)
	if parts.bytes then
		flow.parts[f.seq] = nil
	end
	return parts.bytes
end

local function analyse(f, note)
	local out = direction_of(f.source, f.destination)
	local back = direction_of(f.destination, f.source)
	if f.ack then
		analyse_ack(back, f, note)
		note.ack, note.limit = shown(back, f.ack), shown(back, f.limit)
	end
	if f.delay then
		analyse_delay(back, f, note)
	end
	if f.missing then
		analyse_sack(back, f, note)
	end
	local kind = KINDS[f.kind]
	if kind == "DATA" then
		local fresh = analyse_data(out, f, note)
		local take = ops[OPS.DATA[f.op]]
		local payload = fresh and whole_payload(out, f, note)
		if take and fresh and (payload or not f.part_total) then
			take(out, back, f, payload, note)
		end
	elseif kinds[kind] then
		kinds[kind](f, note, out, back)
	end
end

-- ---- the tree: extensions ----

-- Numbers of frames that a SACK reports missing: those in front of its last bit set.
local function count_missing(range)
	local bytes = range:bytes()
	local missing, pending = 0, 0
	for index = 0, bytes:len() - 1 do
		local value = bytes:get_index(index)
		for _ = 1, 8 do
			if value % 2 == 1 then
				missing, pending = missing + pending, 0
			else
				pending = pending + 1
			end
			value = math.floor(value / 2)
		end
	end
	return missing
end

local take_extension = {
	ACK = function(f, range)
		f.ack, f.limit = range(0, 4):uint(), range(4, 4):uint()
	end,
	DELAY = function(f, range)
		f.echo, f.delay = range(0, 4):uint(), range(4, 4):uint()
	end,
	SACK = function(f, range)
		f.sack_base, f.missing = range(0, 4):uint(), count_missing(range(4))
	end,
	MESSAGE = function(f, range, tree)
		f.message_id, f.message_length = range(0, 4):uint(), range(4, 8):uint64():tonumber()
		if KINDS[f.kind] == "DATA" and OPS.DATA[f.op] == "FAILED" then
			tree:add(fields.cause, range(4, 8)):append_text(
				" (" .. (REFUSALS[f.message_length] or "UNSUPPORTED") .. ")")
		end
	end,
	FRAGMENT = function(f, range, tree)
		f.fragment_id, f.fragment_offset = range(0, 3):uint(), range(3, 5):uint64():tonumber()
		tree:add(fields.fragment_id, range(0, 3))
		tree:add(fields.fragment_offset, range(3, 5))
	end,
	TAG = function(f, range, tree)
		f.head_len = nil
		if f.to_port then
			f.head_len = range(ACTIVE_PORT.head_len, 1):uint()
			tree:add(fields.active_port, range(ACTIVE_PORT.port, 2))
			tree:add(fields.active_port_head_len, range(ACTIVE_PORT.head_len, 1))
			tree:add(fields.active_port_arg, range(ACTIVE_PORT.arg, 4))
		end
	end,
	MTU = function(f, range)
		f.mtu, f.mtu_probe = range(0, 2):uint(), range(2, 2):uint()
	end,
	RMA = function(f, range, tree)
		f.rma_length = range(17, 7):uint64():tonumber()
		tree:add(fields.rma_more, range(16, 1), range(16, 1):bitfield(0, 1) == 1)
		tree:add(fields.rma_continues, range(16, 1), range(16, 1):bitfield(1, 1) == 1)
	end,
	PAYLOAD_CRC = function(f, range)
		f.payload_crc = range(0, 4):uint()
	end,
	PART = function(f, range)
		f.part_offset, f.part_total = range(0, 2):uint(), range(2, 2):uint()
	end,
}
take_extension.SACK_LONG = take_extension.SACK

local function show_extension(f, extension, range, tree)
	local name = extension[1]
	local branch = tree:add(fields["ext_" .. name], range)
	local at = 0
	for _, field in ipairs(extension[3]) do
		branch:add(fields[name .. "." .. field[1]], range(at, field[2]))
		at = at + field[2]
	end
	if take_extension[name] then
		take_extension[name](f, range, branch)
	end
end

-- False: they do not fit the header.
local function show_extensions(f, tvb, tree)
	local at = HEADER_LEN
	for index = 0, #EXTENSIONS do
		local extension = EXTENSIONS[index]
		if f.extensions[extension[1]] then
			if at + extension[2] > f.header_len or at + extension[2] > tvb:len() then
				return false
			end
			show_extension(f, extension, tvb(at, extension[2]), tree)
			at = at + extension[2]
		end
	end
	return at == f.header_len and not (f.extensions.SACK and f.extensions.SACK_LONG)
end

-- ---- the tree: header and payload ----

local function op_name(kind, op)
	local names = OPS[KINDS[kind]]
	return names and names[op] or (op == 0 and "" or "op " .. op)
end

local function show_flags(f, tvb, tree)
	local range = tvb(HEADER.flags, 1)
	local branch = tree:add(fields.flags, range)
	local value, names = range:uint(), {}
	f.flags = {}
	for index = 0, #FLAGS do
		branch:add(fields["flag_" .. FLAGS[index]], range)
		if range:bitfield(7 - index, 1) == 1 then
			f.flags[FLAGS[index]] = true
			names[#names + 1] = FLAGS[index]
		end
	end
	f.to_port = f.flags.PORT
	branch:append_text(" " .. table.concat(names, " "))
	return value < 2 ^ (#FLAGS + 1)
end

local function show_bitmap(f, tvb, tree)
	local range = tvb(HEADER.extensions, 2)
	local branch = tree:add(fields.extensions, range)
	local names = {}
	f.extensions = {}
	for index = 0, #EXTENSIONS do
		local name = EXTENSIONS[index][1]
		branch:add(fields["has_" .. name], range)
		if range:bitfield(15 - index, 1) == 1 then
			f.extensions[name] = true
			names[#names + 1] = name
		end
	end
	branch:append_text(" " .. table.concat(names, " "))
	return range:uint() < 2 ^ (#EXTENSIONS + 1)
end

-- Reads the base header; a text if it is malformed.
local function show_header(f, tvb, tree)
	local function number(name, len)
		local range = tvb(HEADER[name], len)
		tree:add(fields[name], range)
		f[name] = range:uint()
	end
	local at = HEADER.version_kind
	number("dst_port", 2)
	number("src_port", 2)
	number("tenant", 4)
	tree:add(fields.version, tvb(at, 1))
	tree:add(fields.kind, tvb(at, 1))
	f.kind = tvb(at, 1):bitfield(4, 4)
	number("op", 1)
	f.op_name = op_name(f.kind, f.op)
	tree:add(fields.op_name, tvb(HEADER.op, 1), f.op_name):set_generated()
	number("header_len", 1)
	local known_flags = show_flags(f, tvb, tree)
	local known_extensions = show_bitmap(f, tvb, tree)
	number("payload_len", 2)
	number("src_epoch", 4)
	number("dst_epoch", 4)
	number("seq", 4)
	number("checksum", 4)
	return not KINDS[f.kind] and "unknown kind"
		or not known_flags and "unknown flag"
		or not known_extensions and "unknown extension"
		or f.header_len < HEADER_LEN and "header shorter than the base header" or nil
end

local eth_dst, eth_src = Field.new("eth.dst"), Field.new("eth.src")
local ip_dst, ip_src = Field.new("ip.dst"), Field.new("ip.src")
local ipv6_dst, ipv6_src = Field.new("ipv6.dst"), Field.new("ipv6.src")

-- Of packets in packets the innermost; with where it stands.
local function innermost(field)
	local all = { field() }
	local last = all[#all]
	if not last then
		return nil, -1
	end
	return last.range:bytes():raw(), last.offset
end

-- The bytes of an IP address, of either version; nil if the capture does not have it.
local function ip_address(ipv4, ipv6)
	local short, short_at = innermost(ipv4)
	local long, long_at = innermost(ipv6)
	return long_at > short_at and long or short
end

local function mac_text(bytes)
	return (bytes:gsub(".", function(byte)
		return string.format("%02x:", byte:byte())
	end):sub(1, -2))
end

local function ipv4_text(bytes)
	return string.format("%u.%u.%u.%u", bytes:byte(1, 4))
end

-- As usual: without zeros in front, and the first longest row of zero groups left out.
local function ipv6_text(bytes)
	local groups, best, best_len, len = {}, 0, 1, 0
	for index = 1, 8 do
		local high, low = bytes:byte(2 * index - 1, 2 * index)
		groups[index] = string.format("%x", high * 256 + low)
		len = groups[index] == "0" and len + 1 or 0
		if len > best_len then
			best, best_len = index - len + 1, len
		end
	end
	if best == 0 then
		return table.concat(groups, ":")
	end
	return table.concat(groups, ":", 1, best - 1) .. "::" ..
		table.concat(groups, ":", best + best_len)
end

-- An address as people know it.
local function address_text(bytes)
	if not bytes then
		return "?"
	end
	return #bytes == 4 and ipv4_text(bytes) or #bytes == 16 and ipv6_text(bytes) or mac_text(bytes)
end

-- The number that 8 bytes stand for.
local function number64(bytes, at)
	local high, low = 0, 0
	for index = 0, 3 do
		high = high * 256 + bytes:byte(at + index)
		low = low * 256 + bytes:byte(at + 4 + index)
	end
	return UInt64.new(low, high)
end

local FIRST_FACTOR = UInt64.new(0x7F4A7C15, 0x9E3779B9)
local SECOND_FACTOR = UInt64.new(0x6659FD93, 0xD6E8FEB8)

-- The six bytes that stand for an IPv6 address (protocol.md 11); of a group its MAC address.
local function ipv6_pseudo_mac(address)
	if address:byte(1) == 0xFF then
		return address:sub(11, 16)
	end
	local mixed = number64(address, 1) * FIRST_FACTOR
	mixed = mixed:bxor(mixed:rshift(32)) + number64(address, 9)
	mixed = mixed:bxor(mixed:rshift(32)) * SECOND_FACTOR
	mixed = mixed:bxor(mixed:rshift(32))
	local high, low = mixed:higher(), mixed:lower()
	return string.char(6, high % 256, math.floor(low / 16777216), math.floor(low / 65536) % 256,
		math.floor(low / 256) % 256, low % 256)
end

local pseudo_macs = {} -- of IPv6 addresses

-- The bytes that stand for an IP address; nil: an IPv4 group's address has half of its MAC address.
local function pseudo_mac(address)
	if #address == 4 then
		return address:byte(1) < 224 and "\2\4" .. address or nil
	end
	if not pseudo_macs[address] then
		pseudo_macs[address] = ipv6_pseudo_mac(address)
	end
	return pseudo_macs[address]
end

-- The addresses between which the frame travels: their bytes, nil if they were not captured.
local function link_addresses(f)
	if not f.udp then
		return innermost(eth_dst), innermost(eth_src)
	end
	local dst, src = ip_address(ip_dst, ipv6_dst), ip_address(ip_src, ipv6_src)
	return dst and pseudo_mac(dst), src and pseudo_mac(src)
end

-- "good", "bad", or why it is not known.
local function header_checksum(f, tvb)
	local dst, src = link_addresses(f)
	if not gamma.prefs.checksum then
		return "not verified"
	elseif not dst or not src then
		return f.udp and ip_address(ip_dst, ipv6_dst) and "unknown, of an IPv4 group"
			or "unknown without the addresses"
	elseif tvb:len() < f.header_len then
		return "unknown, not all captured"
	end
	local ethertype = f.udp and ETHERTYPE or gamma.prefs.ethertype
	local covered = dst .. src .. string.char(math.floor(ethertype / 256), ethertype % 256) ..
		tvb:raw(0, HEADER.checksum) .. tvb:raw(HEADER_LEN, f.header_len - HEADER_LEN)
	return crc32c(covered) == f.checksum and "good" or "bad"
end

local function show_address(tvb, at, tree)
	local range = tvb(at, ADDRESS_LEN)
	local branch = tree:add(fields.address, range)
	for name, len in pairs({ mac = 6, port = 2, epoch = 4, version = 1, contexts = 1, mtu = 2, host = 8 }) do
		branch:add(fields["address_" .. name], range(ADDRESS[name], len))
	end
	local version = range(ADDRESS.version, 1):uint()
	if version == 2 then
		branch:add(fields.address_ipv4, range(ADDRESS.mac + 2, 4)):set_generated()
	elseif version == 3 then
		local whole = ByteArray.new(range:raw(ADDRESS.mac, 6) .. range:raw(ADDRESS.mtu, 10), true)
		branch:add(fields.address_ipv6, whole:tvb("IPv6 address")(0, 16)):set_generated()
	end
end

-- HOST_VIA: the other host, whom the receiver is to ask.
local function show_via(f, tvb, at, tree)
	tree:add(fields.via_mac, tvb(at, 6))
	f.via = mac_text(tvb:raw(at, 6))
end

local function show_rails(tvb, at, captured, tree)
	local count = tvb(at + RAILS.count, 1):uint()
	tree:add(fields.rail_count, tvb(at + RAILS.count, 1))
	tree:add(fields.rail_udp, tvb(at + RAILS.udp, 1))
	tree:add(fields.rail_down, tvb(at + RAILS.down, 1))
	for rail = 0, math.min(count, RAILS_MAX) - 1 do
		local from = at + RAILS.rails + rail * RAIL_LEN
		if from + RAIL_LEN > at + captured then
			return
		end
		tree:add(fields.rail_mac, tvb(from, 6))
		tree:add(fields.rail_mtu, tvb(from + 6, 2))
	end
end

local function show_host(tvb, at, tree)
	local range = tvb(at, HOST_LEN)
	local branch = tree:add(fields.host, range)
	for name, len in pairs({ mac = 6, mtu = 2, speed = 4, version = 1, release = 3, slots = 2,
		endpoints = 2, host = 8 }) do
		branch:add(fields["host_" .. name], range(HOST[name], len))
	end
	-- Texts that are filled up with 0, unless the frame is damaged.
	for name, len in pairs({ nic = 16, name = 64 }) do
		local text = range(HOST[name], len):raw()
		local zero = text:find("\0", 1, true) or len + 1
		branch:add(fields["host_" .. name], range(HOST[name], len), text:sub(1, zero - 1))
	end
end

-- The head of a message to an active port, where its first bytes are, if all of it was captured.
local function show_head(f, tvb, at, last, tree)
	if f.to_port and f.head_len and f.head_len > 0 and at + f.head_len <= last then
		tree:add(fields.active_port_head, tvb(at, f.head_len))
	end
end

-- One item; where the next begins, or nil if it is malformed.
local function show_item(tvb, at, last, tree)
	if at + ITEM_LEN > last then
		return nil
	end
	local range = tvb(at, ITEM_LEN)
	local len, bits, op = range(0, 2):uint(), range(2, 1), range(3, 1):uint()
	local name = OPS.DATA[op] or "unknown"
	local has = ITEMS[name]
	local branch = tree:add(fields.item, range)
	branch:add(fields.item_len, range(0, 2))
	branch:add(fields.item_extensions, bits)
	branch:add(fields.item_op, range(3, 1))
	branch:append_text(string.format(": %s, %u bytes", name, len))
	if not has then
		return nil
	end
	if bits:bitfield(7, 1) == 1 then
		branch:append_text(", to an active port")
	end
	local item = { kind = 0, to_port = bits:bitfield(7, 1) == 1 }
	local wanted = { TAG = bits:bitfield(4, 1) == 1, CQ_DATA = bits:bitfield(3, 1) == 1 }
	for _, extension in ipairs(has) do
		wanted[extension] = true
	end
	at = at + ITEM_LEN
	for index = 0, #EXTENSIONS do
		local extension = EXTENSIONS[index]
		if wanted[extension[1]] then
			if at + extension[2] > last then
				return nil
			end
			show_extension(item, extension, tvb(at, extension[2]), branch)
			at = at + extension[2]
		end
	end
	if at + len > last then
		return nil
	end
	if len > 0 then
		branch:add(fields.payload, tvb(at, len))
		show_head(item, tvb, at, at + len, branch)
	end
	return at + len
end

local function show_payload(f, tvb, tree)
	local first = f.header_len
	local captured = math.max(0, math.min(f.payload_len, tvb:len() - first))
	local branch
	if captured == 0 then
		return
	end
	branch = tree:add(fields.payload, tvb(first, captured))
	f.payload = tvb:raw(first, captured)
	show_head(f, tvb, first, first + captured, branch)
	if f.payload_crc and gamma.prefs.checksum and captured == f.payload_len and
		crc32c(f.payload) ~= f.payload_crc then
		tree:add_proto_expert_info(experts.checksum, "wrong checksum of the payload: counts as lost")
		f.bad = true
	end
	local what = KINDS[f.kind] .. " " .. f.op_name
	if what == "LOOKUP FOUND" and captured >= ADDRESS_LEN then
		show_address(tvb, first, branch)
	elseif what == "LOOKUP HOST" and captured >= HOST_LEN then
		show_host(tvb, first, branch)
	elseif what == "LOOKUP HOST_VIA" and captured >= 6 then
		show_via(f, tvb, first, branch)
	elseif (what == "PROBE RAILS" or what == "ACK RAILS") and captured >= RAILS.rails then
		show_rails(tvb, first, captured, branch)
	elseif KINDS[f.kind] == "DATA" and OPS.DATA[f.op] == "BATCH" and not f.part_total then
		local at, last = first, first + captured
		while at and at < last do
			at = show_item(tvb, at, last, branch)
		end
		if not at and captured == f.payload_len then
			tree:add_proto_expert_info(experts.malformed, "malformed item of a batch")
		end
	end
end

-- ---- the tree: what the analysis has found ----

local function show_notes(f, note, tree)
	tree:add(fields.stream, note.stream):set_generated()
	tree:add(fields.src, f.source):set_generated()
	tree:add(fields.dst, f.destination):set_generated()
	for _, value in ipairs(note.values) do
		tree:add(fields[value[1]], value[2]):set_generated()
	end
	for _, found in ipairs(note.experts) do
		tree:add_proto_expert_info(experts[found[1]], found[2])
	end
	if note.message then
		local whole = ByteArray.new(note.message.bytes, true):tvb("Reassembled message")
		tree:add(fields.message_length, UInt64.new(note.message.total % CYCLE,
			math.floor(note.message.total / CYCLE))):set_generated()
		if whole:len() > 0 then
			tree:add(fields.message_data, whole(0)):append_text(
				string.format(" (%u frames)", #note.message.frames))
		end
	end
end

local function show_columns(f, note, pinfo)
	local text = string.format("%u > %u %s %s", f.src_port, f.dst_port, KINDS[f.kind], f.op_name)
	if KINDS[f.kind] == "DATA" then
		text = text .. " Number=" .. (note and note.number or f.seq)
	end
	if f.payload_len > 0 then
		text = text .. " Len=" .. f.payload_len
	end
	if f.ack then
		text = string.format("%s Ack=%u Limit=%u", text, note and note.ack or f.ack,
			note and note.limit or f.limit)
	end
	if f.via then
		text = text .. " Via=" .. f.via
	end
	for name in pairs(f.flags) do
		text = text .. " " .. name
	end
	for _, found in ipairs(note and note.experts or {}) do
		if found[1] ~= "bye" then
			text = text .. " [" .. found[2] .. "]"
		end
	end
	pinfo.cols.info = text
end

-- ---- the dissector ----

local function identify(f, pinfo)
	f.number, f.time = pinfo.number, pinfo.rel_ts
	f.key = f.place == 0 and f.number or f.number .. "/" .. f.place
	local src = f.udp and ip_address(ip_src, ipv6_src) or not f.udp and innermost(eth_src)
	local dst = f.udp and ip_address(ip_dst, ipv6_dst) or not f.udp and innermost(eth_dst)
	f.source = string.format("%s/%u/%08x", address_text(src), f.src_port, f.src_epoch)
	f.destination = string.format("%s/%u/%08x", address_text(dst), f.dst_port, f.dst_epoch)
end

local function note_of(f)
	local note = notes[f.key]
	if not note then
		note = { experts = {}, values = {}, stream = stream_of(f.source, f.destination) }
		notes[f.key] = note
		if not f.bad then
			analyse(f, note)
		end
	end
	return note
end

local function dissect_frame(f, tvb, pinfo, tree)
	local wrong = show_header(f, tvb, tree)
	identify(f, pinfo)
	if wrong or tvb:reported_len() < f.header_len then
		tree:add_proto_expert_info(experts.malformed, wrong or "shorter than its header")
		f.bad = true
		return
	end
	local checksum = header_checksum(f, tvb)
	tree:add(fields.checksum_status, tvb(HEADER.checksum, 4), checksum):set_generated()
	if checksum == "bad" then
		tree:add_proto_expert_info(experts.checksum, "wrong checksum of the header: dropped")
		f.bad = true
	end
	if tvb:len() < f.header_len then
		tree:add_proto_expert_info(experts.short_capture)
		f.bad = true
		return
	end
	if not show_extensions(f, tvb, tree) then
		tree:add_proto_expert_info(experts.malformed, "header length and extensions contradict each other")
		f.bad = true
		return
	end
	if tvb:reported_len() < f.header_len + f.payload_len then
		tree:add_proto_expert_info(experts.malformed, "shorter than its payload")
		f.bad = true
	elseif tvb:len() < f.header_len + f.payload_len then
		tree:add_proto_expert_info(experts.short_capture)
	elseif tvb:len() > f.header_len + f.payload_len then
		tree:add(fields.padding, tvb(f.header_len + f.payload_len))
	end
	show_payload(f, tvb, tree)
end

-- One frame; place: of a train in one datagram, from 0 on.
local function dissect_one(tvb, pinfo, root, udp, place)
	local tree = root:add(gamma, tvb())
	local f = { flags = {}, extensions = {}, udp = udp, place = place }
	pinfo.cols.protocol = "GAMMA"
	if tvb:len() < HEADER_LEN then
		tree:add_proto_expert_info(tvb:reported_len() < HEADER_LEN and experts.malformed
			or experts.short_capture, "shorter than the base header")
		return tvb:len()
	end
	local version = tvb(HEADER.version_kind, 1):bitfield(0, 4)
	if version ~= VERSION then
		tree:add(fields.version, tvb(HEADER.version_kind, 1))
		tree:add_proto_expert_info(experts.version,
			string.format("version %u of the protocol; this dissector knows %u", version, VERSION))
		pinfo.cols.info = "version " .. version
		return tvb:len()
	end
	dissect_frame(f, tvb, pinfo, tree)
	local note = KINDS[f.kind] and note_of(f)
	if note then
		show_notes(f, note, tree)
		show_columns(f, note, pinfo)
		tree:append_text(string.format(", %s %s, %s > %s", KINDS[f.kind], f.op_name, f.source,
			f.destination))
	end
	return tvb:len()
end

function gamma.dissector(tvb, pinfo, root)
	return dissect_one(tvb, pinfo, root, false, 0)
end

-- ---- over UDP ----

local gamma_udp = Proto("gamma_udp", "GAMMA messages over UDP")

-- The length of the frame that begins there; nil if none does.
local function frame_length(tvb, at)
	if tvb:len() - at < HEADER_LEN then
		return nil
	end
	local kind = tvb(at + HEADER.version_kind, 1)
	local header_len = tvb(at + HEADER.header_len, 1):uint()
	local len = header_len + tvb(at + HEADER.payload_len, 2):uint()
	local known = kind:bitfield(0, 4) == VERSION and KINDS[kind:bitfield(4, 4)] and
		header_len >= HEADER_LEN and tvb(at + HEADER.flags, 1):uint() < 2 ^ (#FLAGS + 1) and
		tvb(at + HEADER.extensions, 2):uint() < 2 ^ (#EXTENSIONS + 1) and
		at + len <= tvb:reported_len()
	return known and len or nil
end

-- What the kernel sends or receives in one call is captured as one datagram: a train of frames.
function gamma_udp.dissector(tvb, pinfo, root)
	local at, place = 0, 0
	while at < tvb:len() do
		local len = frame_length(tvb, at) or tvb:len() - at
		local rest = tvb:len() - at
		dissect_one(len < rest and tvb(at, len):tvb() or tvb(at):tvb(), pinfo, root, true, place)
		at, place = at + len, place + 1
	end
	if place > 1 then
		pinfo.cols.info:append(string.format(" (the last of %u frames)", place))
	end
	return tvb:len()
end

-- A frame names the ports of its datagram. The low ports of groups are moved up.
local function looks_like_gamma(tvb, pinfo, root)
	local dst = frame_length(tvb, 0) and tvb(HEADER.dst_port, 2):uint()
	if not dst or (dst ~= pinfo.dst_port and (dst >= 1024 or dst + 0xF000 ~= pinfo.dst_port)) or
		tvb(HEADER.src_port, 2):uint() ~= pinfo.src_port then
		return false
	end
	gamma_udp.dissector(tvb, pinfo, root)
	return true
end

-- ---- registration ----

local ethertypes = DissectorTable.get("ethertype")
local registered = ETHERTYPE
ethertypes:add(registered, gamma)
gamma_udp:register_heuristic("udp", looks_like_gamma)
DissectorTable.get("udp.port"):add_for_decode_as(gamma_udp)

function gamma.prefs_changed()
	if gamma.prefs.ethertype ~= registered then
		ethertypes:remove(registered, gamma)
		registered = gamma.prefs.ethertype
		ethertypes:add(registered, gamma)
	end
end
