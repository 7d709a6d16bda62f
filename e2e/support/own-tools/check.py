"""Tools of Python over the folder of samples: a line for each, "name: ok" or what it says."""

import base64
import json
import sys
from pathlib import Path

samples = Path(sys.argv[1])


def read(name):
    return json.loads((samples / name).read_text())


def unbase64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def with_securesystemslib(keyid):
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import SSlibKey

    key = SSlibKey.from_crypto(load_key())
    if keyid is not None:
        key.keyid = keyid
    given = read("envelope.json")
    envelope = Envelope.from_dict(given)
    envelope.verify([key], 1)


def load_key():
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    return load_pem_public_key((samples / "key.pem").read_bytes())


def with_in_toto():
    from google.protobuf.json_format import Parse
    from in_toto_attestation.v1.statement import Statement
    from in_toto_attestation.v1.statement_pb2 import Statement as Message

    Statement.copy_from_pb(Parse((samples / "payload.json").read_bytes(), Message())).validate()


def with_in_toto_numbers():
    from google.protobuf.json_format import MessageToDict, Parse
    from in_toto_attestation.v1.statement_pb2 import Statement as Message

    statement = MessageToDict(Parse((samples / "payload.json").read_bytes(), Message()))
    sequence = statement["predicate"]["record"]["sequence"]
    if not isinstance(sequence, int):
        raise ValueError(f"sequence {sequence}")


def with_canonical(canonicalize):
    failed = []
    for case in read("jcs.json"):
        try:
            made = canonicalize(json.loads(case["input"]))
        except Exception:  # noqa: BLE001
            failed.append(case["name"])
        else:
            if made != case["bytes"].encode():
                failed.append(case["name"])
    if failed:
        raise ValueError("not " + ", ".join(failed))


def with_jcs():
    import jcs

    with_canonical(jcs.canonicalize)


def with_rfc8785():
    import rfc8785

    with_canonical(rfc8785.dumps)


def with_py_webauthn():
    from webauthn import verify_authentication_response

    for one in read("passkeys.json"):
        verify_authentication_response(
            credential=one["credential"],
            expected_challenge=unbase64(one["challenge"]),
            expected_rp_id=one["rp_id"],
            expected_origin=one["origin"],
            credential_public_key=unbase64(one["public_key"]),
            credential_current_sign_count=0,
            require_user_verification=True,
        )


def with_fido2():
    from fido2 import cbor
    from fido2.cose import CoseKey
    from fido2.webauthn import AuthenticatorData, CollectedClientData

    for one in read("passkeys.json"):
        response = one["credential"]["response"]
        client = CollectedClientData(unbase64(response["clientDataJSON"]))
        data = AuthenticatorData(unbase64(response["authenticatorData"]))
        assert client.challenge == unbase64(one["challenge"]) and data.is_user_verified()
        key = CoseKey.parse(cbor.decode(unbase64(one["public_key"])))
        key.verify(data + client.hash, unbase64(response["signature"]))


def with_cedarpy():
    import cedarpy

    for one in read("cedar.json"):
        request = {name: one[name] for name in ("principal", "action", "resource", "context")}
        result = cedarpy.is_authorized(request, one["policies"], one["entities"])
        assert result.decision.value.lower() == one["decision"], one


def with_pyjwt():
    from jwt import PyJWKSet

    assert PyJWKSet.from_dict(read("jwks.json")).keys


def with_python_jose():
    from jose import jwk

    for key in read("jwks.json")["keys"]:
        jwk.construct(key)


def with_agent_evidence_vectors():
    """The guide's tables name each member that the draft requires, and a record without one that it calls absent is refused."""
    import agent_evidence_vectors
    from agent_evidence_vectors import auditrecord as draft
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    nested = draft.NESTED_MEMBERS
    top = {("", name) for name in draft.TOP_MEMBERS}
    inner = {(f"{outer}.", name) for outer, names in nested.items() for name in names}
    required = {outer + name for outer, name in top | inner} - set(nested)
    known, absent = read("audit-record.json")
    assert sorted(known + absent) == sorted(required), required.symmetric_difference(known + absent)

    corpus = Path(agent_evidence_vectors.__file__).parent / "corpora/vectors-agent-audit-record"
    manifest = json.loads((corpus / "MANIFEST.json").read_text())
    first = next(one for one in manifest["vectors"] if one["draftId"] == "A1")
    key = Ed25519PrivateKey.generate()
    policy = draft.policy_for(manifest)
    policy = type(policy)(policy.predicate_type, key.public_key().public_bytes_raw().hex())

    def judge(change):
        statement = json.loads(base64.b64decode(json.loads((corpus / first["file"]).read_text())["payload"]))
        change(statement["predicate"])
        payload = draft.canonical_bytes(statement)
        signature = base64.b64encode(key.sign(draft.pae(draft.PAYLOAD_TYPE, payload))).decode()
        envelope = {"payload": base64.b64encode(payload).decode(), "payloadType": draft.PAYLOAD_TYPE}
        return draft.verify(json.dumps({**envelope, "signatures": [{"sig": signature}]}).encode(), policy).codes

    def without(member):
        *outer, name = member.split(".")

        def change(node):
            for step in outer:
                node = node[step]
            del node[name]

        return change

    assert judge(lambda _: None) == []
    for member in absent:
        assert judge(without(member)) == ["member-missing"], member
    assert judge(lambda it: it["posture"].update(observed="unknown")) == ["value-outside-vocabulary"]


TOOLS = {
    "securesystemslib 1.6.0": lambda: with_securesystemslib((samples / "dsse_keyid.txt").read_text()),
    "securesystemslib 1.6.0, under its own id of the key": lambda: with_securesystemslib(None),
    "in-toto-attestation 0.9.3": with_in_toto,
    "in-toto-attestation 0.9.3, whole numbers": with_in_toto_numbers,
    "jcs 0.2.1": with_jcs,
    "rfc8785 0.1.4": with_rfc8785,
    "py_webauthn 3.0.1": with_py_webauthn,
    "fido2 2.2.1": with_fido2,
    "cedarpy 4.12.2": with_cedarpy,
    "PyJWT 2.15.1": with_pyjwt,
    "python-jose 3.5.0": with_python_jose,
    "agent-evidence-vectors 0.27.0": with_agent_evidence_vectors,
}

for name, check in TOOLS.items():
    try:
        check()
        print(f"{name}: ok")
    except Exception as error:  # noqa: BLE001
        print(f"{name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
