-- What a slug looks like: equal for slugs that people could take one for the other. Letters as in Unicode TS 39, and since slugs are
-- compared without regard to case, a letter that looks like another in either case is that other.
CREATE FUNCTION slug_skeleton(slug_key text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT rtrim(regexp_replace(replace(replace(translate(lower(slug_key), 'i10_.', 'llo--'), 'm', 'rn'), 'w', 'vv'), '-+', '-', 'g'), '-')
$$;--> statement-breakpoint
CREATE INDEX "agents_slug_skeleton" ON "agents" USING btree (slug_skeleton("slug_key"),"id");
