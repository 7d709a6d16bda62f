/**
 * For tests only: a real proof of the stand-in's test human Ada, in her tree of depth 16: app `app_vector`, action `an
 * action`, signal `a signal`.
 */
export const standInProof = {
  proof: [
    "0x0ad9110b393696ebf3b8f839942711c03ba56dbdf60e251f01271ae785f88e02",
    "0x0c5125ca73fd7b3f3cddd763076237a1fc12133777c6ffe1cd79b623d03eeb60",
    "0x147ce89493c94d02b642589c749904f6f3ca73cdbce9f32f9bebc42595282412",
    "0x1239d3aab56d1a762f73410d6966b8482a2989845f7e139b6a82601dd800c97a",
    "0x01c3d70c2e6845108b137084759dad015d58a95439ce5aa19d0c4dd825a91370",
    "0x11161d44009d64587ec2e38f5f8a900a6b05d170599b1011b6521e2a88a1f9e0",
    "0x22f3d7ffa3c9962c9d6e1be312e1852358b2e841b366690f36d3b52181d8f52b",
    "0x242e09225dc35a5736fde90caec32b368c332e1cd78889dbc410ca437c159d57",
  ],
  root: "0x1e694642cb089f1fc719370dd3e013544212ad2962f7b0d6d2fdb8efccab760f",
  nullifier_hash: "0x2efabeed9ffee49426ea837ce9969f0db6fd22c869ef66e7e932336224e06a16",
  signal_hash: "0x00e5719dc6a412b9cf57e55f42ef66e1a1e4de0caf949376724542d13d28d4a8",
  external_nullifier_hash: "0x0095af66ca2f2872df6c9e1c580bd96a09ba8de84afa9d2cc481af128ad59336",
};
