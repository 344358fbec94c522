"""Verifies an export of the log from event.proto alone: audit_verify.py PROTO_DIR EXPORT [SIGNED_HEAD JWKS]

EXPORT is what `plantstore audit export` printed, in either format, or with --public in JSON.
Needs: pip install grpcio-tools cryptography
"""
import base64, collections, hashlib, json, sys
import grpc

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
    for field, member in {"owner": "owner", "actor": "actor", "issuer": "issuer",
                          "idempotency_key": "idempotencyKey", "traceparent": "traceparent"}.items():
        setattr(content, field, row.get(member, ""))
    content.salt = bytes.fromhex(row["salt"])
    if row["type"] != "OwnerErased":
        data = {"PlantAdded": content.plant_added, "PlantDeleted": content.plant_deleted}[row["type"]]
        data.SetInParent()
        data.id = row["plantId"]
        for field in ("name", "tag"):
            if field in row:
                setattr(data, field, row[field])
    event.commitment = hashlib.sha256(canonical(content)).digest()
    return record


def from_protobuf(file):
    """Every record of a file of messages with their lengths, as varints, before them."""
    while byte := file.read(1):
        length = shift = 0
        while byte[0] > 127:
            length |= (byte[0] & 127) << shift
            shift, byte = shift + 7, file.read(1)
        yield Record.FromString(file.read(length | byte[0] << shift))


def records(path):
    with open(path, "rb") as file:
        is_json = file.read(2) == b'{"'
        file.seek(0)
        yield from map(from_json, file) if is_json else from_protobuf(file)


def signed_head(jws, jwks):
    """The head that a key of the JWKS signed; raises InvalidSignature when none did."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    decode = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    header, payload, signature = jws.strip().split(".")
    kid = json.loads(decode(header))["kid"]
    key = next(key for key in json.loads(jwks)["keys"] if key["kid"] == kid)
    Ed25519PublicKey.from_public_bytes(decode(key["x"])).verify(decode(signature), f"{header}.{payload}".encode())
    return json.loads(decode(payload))


previous, position, hashes = bytes(32), 0, {0: bytes(32).hex()}
missing, erasures = collections.Counter(), {}
for record in records(sys.argv[2]):
    event, position = record.event, position + 1
    sealed = event.hash
    event.ClearField("hash")
    previous = hashlib.sha256(previous + canonical(event)).digest()
    said = not record.HasField("content") or hashlib.sha256(canonical(record.content)).digest() == event.commitment
    if event.position != position or sealed != previous or not said:
        sys.exit(f"broken at position {position}")
    hashes[position] = previous.hex()
    if record.erased_by:
        missing[record.erased_by] += 1
    if event.type == "OwnerErased":
        erasures[position] = event.erased
for at in missing:
    if missing[at] != erasures.get(at):
        sys.exit(f"broken at position {at}")
if len(sys.argv) > 3:
    head = signed_head(open(sys.argv[3]).read(), open(sys.argv[4]).read())
    if hashes.get(head["position"]) != head["hash"]:
        sys.exit(f"does not extend the head that was signed at position {head['position']}")
print(position, previous.hex())
