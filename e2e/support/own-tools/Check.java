// Tools of Java over the folder of samples: a line for each, "name: ok" or what it says.
import com.cedarpolicy.BasicAuthorizationEngine;
import com.cedarpolicy.model.AuthorizationRequest;
import com.cedarpolicy.model.entity.Entities;
import com.cedarpolicy.model.policy.PolicySet;
import com.cedarpolicy.value.EntityUID;
import com.cedarpolicy.value.Value;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.nimbusds.jose.jwk.JWKSet;
import com.webauthn4j.converter.AuthenticatorDataConverter;
import com.webauthn4j.converter.CollectedClientDataConverter;
import com.webauthn4j.converter.util.ObjectConverter;
import com.webauthn4j.data.attestation.authenticator.COSEKey;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.Signature;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.cms.jcajce.JcaSimpleSignerInfoVerifierBuilder;
import org.bouncycastle.tsp.TimeStampResponse;
import org.erdtman.jcs.JsonCanonicalizer;

public class Check {
    interface Tool {
        void check() throws Exception;
    }

    static Path samples;
    static final ObjectMapper json = new ObjectMapper();

    static byte[] read(String name) throws Exception {
        return Files.readAllBytes(samples.resolve(name));
    }

    static byte[] unbase64(String text) {
        return Base64.getUrlDecoder().decode(text);
    }

    static void require(boolean holds, String problem) {
        if (!holds) throw new IllegalStateException(problem);
    }

    static void withBouncyCastle() throws Exception {
        var token = new TimeStampResponse(read("stamp.tsr")).getTimeStampToken();
        var certificates = token.getCertificates().getMatches(token.getSID());
        var certificate = (X509CertificateHolder) certificates.iterator().next();
        token.validate(new JcaSimpleSignerInfoVerifierBuilder().build(certificate));
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(read("stamped.txt"));
        require(Arrays.equals(hash, token.getTimeStampInfo().getMessageImprintDigest()), "another imprint");
    }

    static void withWebauthn4j() throws Exception {
        var objects = new ObjectConverter();
        for (JsonNode one : json.readTree(read("passkeys.json"))) {
            JsonNode response = one.get("credential").get("response");
            byte[] client = unbase64(response.get("clientDataJSON").asText());
            byte[] data = unbase64(response.get("authenticatorData").asText());
            var parsed = new CollectedClientDataConverter(objects).convert(client);
            require(Arrays.equals(parsed.getChallenge().getValue(), unbase64(one.get("challenge").asText())), "challenge");
            require(new AuthenticatorDataConverter(objects).convert(data).isFlagUV(), "not verified");
            var key = objects.getCborConverter().readValue(unbase64(one.get("public_key").asText()), COSEKey.class);
            var signature = Signature.getInstance("SHA256withECDSA");
            signature.initVerify(key.getPublicKey());
            signature.update(data);
            signature.update(MessageDigest.getInstance("SHA-256").digest(client));
            require(signature.verify(unbase64(response.get("signature").asText())), "signature");
        }
    }

    static void withCedar() throws Exception {
        var cedar = com.cedarpolicy.CedarJson.objectMapper();
        for (JsonNode one : json.readTree(read("cedar.json"))) {
            var policies = PolicySet.parsePolicies(one.get("policies").asText());
            var names = new ArrayList<EntityUID>();
            for (String name : List.of("principal", "action", "resource")) names.add(EntityUID.parse(one.get(name).asText()).orElseThrow());
            Map<String, Value> context = cedar.readValue(one.get("context").toString(), new TypeReference<Map<String, Value>>() {});
            var request = new AuthorizationRequest(names.get(0), names.get(1), names.get(2), context);
            var answer = new BasicAuthorizationEngine().isAuthorized(request, policies, Entities.parse(one.get("entities").toString()));
            require(answer.success.isPresent(), "no answer");
            require(answer.success.get().isAllowed() == one.get("decision").asText().equals("allow"), "another decision");
        }
    }

    static void withJcs() throws Exception {
        List<String> failed = new ArrayList<>();
        for (JsonNode one : json.readTree(read("jcs.json"))) {
            String made = new JsonCanonicalizer(one.get("input").asText()).getEncodedString();
            if (!made.equals(one.get("bytes").asText())) failed.add(one.get("name").asText());
        }
        require(failed.isEmpty(), "not " + String.join(", ", failed));
    }

    public static void main(String[] args) {
        samples = Path.of(args[0]);
        Map<String, Tool> tools = new LinkedHashMap<>();
        tools.put("BouncyCastle 1.81", Check::withBouncyCastle);
        tools.put("webauthn4j 0.31.7", Check::withWebauthn4j);
        tools.put("cedar-java 4.10.0", Check::withCedar);
        tools.put("java-json-canonicalization 1.1", Check::withJcs);
        tools.put("nimbus-jose-jwt 10.5", () -> require(!JWKSet.parse(new String(read("jwks.json"))).isEmpty(), "no keys"));
        tools.forEach((name, tool) -> {
            String said = "ok";
            try {
                tool.check();
            } catch (Throwable error) {
                said = String.valueOf(error.getMessage()).split("\n")[0];
            }
            System.out.println(name + ": " + said);
        });
    }
}
