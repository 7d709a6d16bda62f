-- A request that was erased (its fingerprint is its salted hash) keeps no callback_url.
UPDATE authorization_requests SET callback_url = NULL
  WHERE fingerprint = request_hash AND context_salt IS NULL AND callback_url IS NOT NULL;
