//! Tools of Rust over the folder of samples: a line for each, "name: ok" or what it says.
use std::{env, error::Error, fs, path::PathBuf};

type Said = Result<(), Box<dyn Error>>;

fn read(name: &str) -> String {
    fs::read_to_string(PathBuf::from(env::args().nth(1).unwrap()).join(name)).unwrap()
}

fn parse(name: &str) -> serde_json::Value {
    serde_json::from_str(&read(name)).unwrap()
}

fn with_sigstore_verify() -> Said {
    use sigstore_verify::{PublicKeyVerificationPolicy, Verifier};
    let bundle = serde_json::from_str(&read("bundle.json"))?;
    let root = sigstore_trust_root::TrustedRoot::from_json(&read("trusted_root.json"))?;
    let policy = PublicKeyVerificationPolicy::new(sigstore_types::DerPublicKey::from_pem(&read("key.pem"))?);
    let inputs = read("inputs.txt");
    let verified = Verifier::new(&root)?.verify(inputs.as_bytes(), &bundle, &policy)?;
    if verified.tlog_verified() { Ok(()) } else { Err("the log was not checked".into()) }
}

fn with_zkryptium() -> Said {
    use base64::{engine::general_purpose::URL_SAFE_NO_PAD, Engine};
    use zkryptium::{bbsplus::keys::BBSplusPublicKey, keys::pair::KeyPair, schemes::{algorithms::BbsBls12381Sha256, generics::PoKSignature}};
    let _ = std::marker::PhantomData::<KeyPair<BbsBls12381Sha256>>;
    let shown = parse("presentation.json");
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(shown[name].as_str().unwrap()).unwrap();
    let mut disclosed: Vec<(usize, Vec<u8>)> = shown["disclosed"].as_object().unwrap().iter()
        .map(|(index, text)| (index.parse().unwrap(), text.as_str().unwrap().as_bytes().to_vec())).collect();
    disclosed.sort();
    let (indexes, messages): (Vec<_>, Vec<_>) = disclosed.into_iter().unzip();
    let proof = PoKSignature::<BbsBls12381Sha256>::from_bytes(&bytes("proof")).map_err(|e| format!("{e:?}"))?;
    let key = BBSplusPublicKey::from_bytes(&bytes("public_key")).map_err(|e| format!("{e:?}"))?;
    proof.proof_verify(&key, Some(&messages), Some(&indexes), Some(&bytes("header")), Some(&bytes("presentation_header")))
        .map_err(|e| format!("{e:?}").into())
}

fn with_signed_note() -> Said {
    use signed_note::{Note, StandardVerifier, VerifierList};
    let verifier = StandardVerifier::new(&read("vkey.txt")).map_err(|e| format!("{e:?}"))?;
    let note = Note::from_bytes(read("log/checkpoint").as_bytes()).map_err(|e| format!("{e:?}"))?;
    note.verify(&VerifierList::new(vec![Box::new(verifier)])).map_err(|e| format!("{e:?}"))?;
    Ok(())
}

/// Keys as they were enrolled: of ES256, and not to be backed up.
fn with_webauthn_rs() -> Said {
    use base64::{engine::general_purpose::URL_SAFE_NO_PAD, Engine};
    use serde_json::{from_value, json};
    use webauthn_rs::prelude::{PasskeyAuthentication, PublicKeyCredential, Url, WebauthnBuilder};
    for one in parse("passkeys.json").as_array().unwrap() {
        let text = |name: &str| one[name].as_str().unwrap();
        let cose = URL_SAFE_NO_PAD.decode(text("public_key"))?;
        let part = |from: usize| URL_SAFE_NO_PAD.encode(&cose[from..from + 32]);
        let key = json!({"type_": "ES256", "key": {"EC_EC2": {"curve": "SECP256R1", "x": part(10), "y": part(45)}}});
        let credential = json!({
            "cred_id": one["credential"]["id"], "cred": key, "counter": 0, "transports": null, "user_verified": true,
            "backup_eligible": false, "backup_state": false, "registration_policy": "required", "extensions": {},
            "attestation": {"data": "None", "metadata": "None"}, "attestation_format": "none"
        });
        let state: PasskeyAuthentication = from_value(json!({"ast": {
            "credentials": [credential], "policy": "required", "challenge": text("challenge"), "appid": null,
            "allow_backup_eligible_upgrade": false
        }}))?;
        let shown: PublicKeyCredential = from_value(one["credential"].clone())?;
        let own = WebauthnBuilder::new(text("rp_id"), &Url::parse(text("origin"))?)?.build()?;
        own.finish_passkey_authentication(&shown, &state)?;
    }
    Ok(())
}

fn with_cedar() -> Said {
    use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request};
    for one in parse("cedar.json").as_array().unwrap() {
        let policies: PolicySet = one["policies"].as_str().unwrap().parse()?;
        let uid = |name: &str| one[name].as_str().unwrap().parse::<EntityUid>();
        let context = Context::from_json_value(one["context"].clone(), None)?;
        let entities = Entities::from_json_value(one["entities"].clone(), None)?;
        let request = Request::new(uid("principal")?, uid("action")?, uid("resource")?, context, None)?;
        let found = Authorizer::new().is_authorized(&request, &policies, &entities).decision();
        if (found == Decision::Allow) != (one["decision"] == "allow") {
            return Err(format!("{found:?} instead of {}", one["decision"]).into());
        }
    }
    Ok(())
}

fn with_canonical(canonicalize: impl Fn(&serde_json::Value) -> Result<String, Box<dyn Error>>) -> Said {
    let mut failed = vec![];
    for case in parse("jcs.json").as_array().unwrap() {
        let value = serde_json::from_str(case["input"].as_str().unwrap())?;
        if canonicalize(&value).ok().as_deref() != case["bytes"].as_str() {
            failed.push(case["name"].as_str().unwrap().to_owned());
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("not {}", failed.join(", ")).into()) }
}

fn main() {
    let tools: Vec<(&str, fn() -> Said)> = vec![
        ("sigstore-verify 0.15.1", with_sigstore_verify),
        ("zkryptium 0.8.0", with_zkryptium),
        ("signed_note 0.2.0", with_signed_note),
        ("serde_jcs 0.2.0", || with_canonical(|v| Ok(serde_jcs::to_string(v)?))),
        ("serde_jcs 0.1.0", || with_canonical(|v| Ok(serde_jcs_old::to_string(v)?))),
        ("serde_json_canonicalizer 0.4.1", || with_canonical(|v| Ok(serde_json_canonicalizer::to_string(v)?))),
        ("webauthn-rs 0.5.5", with_webauthn_rs),
        ("Cedar 4.14.1", with_cedar),
        ("json-canon 0.1.3", || with_canonical(|v| Ok(json_canon::to_string(v)?))),
    ];
    for (name, check) in tools {
        match std::panic::catch_unwind(check) {
            Ok(Ok(())) => println!("{name}: ok"),
            Ok(Err(error)) => println!("{name}: {}", error.to_string().lines().next().unwrap_or("")),
            Err(_) => println!("{name}: panicked"),
        }
    }
}
