-- Schema 2. Vectors of passages, one row for a few consecutive passages of one version: `count` of them from `pas` on,
-- as many as fit into 16 KiB, so that a scan holds little at a time. `vid` 0 is the background: fixed texts that
-- show how near unrelated texts are in this model. `model` is the embedder's name. One vector is d + 4 bytes: float32
-- scale, then int8[d]; the vector is scale × int8. A scale of NaN stands for a blank passage, which has no vector.

CREATE TABLE vectors (vid BIGINT, pas BIGINT, model VARCHAR, count INTEGER, vectors BLOB);
