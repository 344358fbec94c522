"""Verifies an export of the log from event.proto alone.

Usage: audit_verify.py PROTO_DIR EXPORT [CHECKPOINT KEY]

PROTO_DIR is the folder proto of the repository. EXPORT is what `plantstore audit export` printed, in either format, or
with --public in JSON. CHECKPOINT is a file that `plantstore audit checkpoint` printed. KEY is the vkey of the log, or a
file that has it. Prints the number of events and the last hash. The exit code is 0 only if everything verifies.
Needs: pip install grpcio-tools cryptography
"""
import base64, collections, hashlib, json, os, sys

if len(sys.argv) not in (3, 5):
    sys.exit(__doc__)
try:
    import cryptography, grpc, grpc_tools
    from google.protobuf.message import DecodeError
except ImportError as error:
    sys.exit(f"{error}: pip install grpcio-tools cryptography")
if not os.path.exists(os.path.join(sys.argv[1], "plantstore/v1/event.proto")):
    sys.exit(f"{sys.argv[1]} is not the folder proto of the repository")

sys.path.insert(0, sys.argv[1])
Record = grpc.protos("plantstore/v1/event.proto").Record


def canonical(message):
    return message.SerializeToString(deterministic=True)


def from_json(line):
    """The record of one line: the members of the JSON object are fields of the messages, but for those of the plant."""
    row = json.loads(line)
    record = Record(erased_by=row.get("erasedBy", 0))
    event, content = record.event, record.content
    event.position, event.event_id, event.type = row["position"], row["eventId"], row["type"]
    event.time.FromJsonString(row["time"])
    event.erased, event.hash = row.get("erased", 0), bytes.fromhex(row["hash"])
    if "commitment" in row:
        event.commitment = bytes.fromhex(row["commitment"])
        record.ClearField("content")
        return record
    for field in content.DESCRIPTOR.fields:
        if field.type == field.TYPE_STRING:
            setattr(content, field.name, row.get(field.json_name, ""))
    content.salt = bytes.fromhex(row["salt"])
    content.subject = bytes.fromhex(row.get("subject", ""))
    if row["type"] != "OwnerErased":
        data = {"PlantAdded": content.plant_added, "PlantDeleted": content.plant_deleted}[row["type"]]
        data.SetInParent()
        for field in data.DESCRIPTOR.fields:
            if field.json_name in row:
                setattr(data, field.name, row[field.json_name])
        data.id = row["plantId"]
    event.commitment = hashlib.sha256(canonical(content)).digest()
    return record


def from_protobuf(file):
    """Every record of a file of messages with their lengths, as varints, before them."""
    while byte := file.read(1):
        length = shift = 0
        while byte[0] > 127:
            length |= (byte[0] & 127) << shift
            shift, byte = shift + 7, file.read(1)
        length |= byte[0] << shift
        record = file.read(length)
        if len(record) < length:
            raise ValueError("it is cut off")
        yield Record.FromString(record)


def records(path):
    number = 0
    try:
        with open(path, "rb") as file:
            is_json = file.read(2) == b'{"'
            file.seek(0)
            for record in map(from_json, file) if is_json else from_protobuf(file):
                number += 1
                yield record
    except OSError as error:
        sys.exit(f"{path} cannot be read: {error}")
    except (ValueError, KeyError, TypeError, IndexError, DecodeError) as error:
        sys.exit(f"event {number + 1} of {path} is no event of an export: {type(error).__name__} {error}")


def text_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{path} cannot be read: {error}")


def checkpoint(path, key):
    """The size and the root that the key signed (c2sp.org/tlog-checkpoint). Ends the program when it did not."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    try:
        name, key_id, encoded = (text_of(key) if os.path.exists(key) else key).strip().split("+", 2)
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(encoded)[1:])
    except ValueError:
        sys.exit(f"{key} is neither a vkey (name+id+key, as plantstore audit key prints it) nor a file that has one")
    text, empty, signatures = text_of(path).rpartition("\n\n")
    try:
        for line in signatures.splitlines():
            _, signer, signature = line.split(" ")
            signature = base64.b64decode(signature)
            if signer == name and signature[:4].hex() == key_id:
                public.verify(signature[4:], f"{text}\n".encode())
                origin, size, root = text.split("\n")[:3]
                return int(size), base64.b64decode(root)
    except ValueError:
        sys.exit(f"{path} is not a checkpoint")
    except InvalidSignature:
        sys.exit(f"{path} was changed: the signature of {name} is invalid")
    sys.exit(f"the key of {name} with id {key_id} has not signed {path}" if empty else f"{path} is not a checkpoint")


def tree_hash(leaves):
    """The root of RFC 6962's tree over hashes of leaves."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256().digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + tree_hash(leaves[:half]) + tree_hash(leaves[half:])).digest()


previous, leaves = bytes(32), []
missing, erasures = collections.Counter(), {}
for record in records(sys.argv[2]):
    event, sealed = record.event, record.event.hash
    event.ClearField("hash")
    previous = hashlib.sha256(previous + canonical(event)).digest()
    leaves.append(hashlib.sha256(b"\x00" + canonical(event)).digest())
    said = not record.HasField("content") or hashlib.sha256(canonical(record.content)).digest() == event.commitment
    if event.position != len(leaves) or sealed != previous or not said:
        sys.exit(f"broken at position {len(leaves)}")
    if record.erased_by:
        missing[record.erased_by] += 1
    if event.type == "OwnerErased":
        erasures[event.position] = event.erased
for at in missing:
    if missing[at] != erasures.get(at):
        sys.exit(f"broken at position {at}")
if len(sys.argv) > 3:
    size, root = checkpoint(sys.argv[3], sys.argv[4])
    if len(leaves) < size or tree_hash(leaves[:size]) != root:
        sys.exit(f"does not extend the checkpoint of {size} events")
print(len(leaves), previous.hex())
