-- The cohort of all-cause mortality: the last ICU stay of more than a day of everybody whose gender and
-- race are known. The date of death has no time of day, so it is compared with the date of admission to
-- the unit. Every column is cast where it is used, as in mimic_h.sql.
SELECT
    CAST(i.subject_id AS BIGINT) AS subject_id,
    CAST(i.stay_id AS BIGINT) AS stay_id,
    CAST(p.dod AS DATE) AS dod,
    CAST(p.dod IS NOT NULL AS INTEGER) AS event,
    CAST(CASE WHEN p.dod IS NOT NULL
        THEN date_diff('day', CAST(CAST(i.intime AS TIMESTAMP) AS DATE), CAST(p.dod AS DATE))
        ELSE round(CAST(i.los AS DOUBLE)) END AS DOUBLE) AS time,
    CAST(p.anchor_age AS DOUBLE) + date_part('year', CAST(i.intime AS TIMESTAMP))
        - CAST(p.anchor_year AS DOUBLE) AS age,
    CAST(p.gender = 'M' AS DOUBLE) AS male
FROM icustays AS i
JOIN patients AS p ON p.subject_id = i.subject_id
JOIN admissions AS a ON a.hadm_id = i.hadm_id
WHERE CAST(i.los AS DOUBLE) > 1 AND p.gender IS NOT NULL AND a.race IS NOT NULL
    AND a.race NOT IN ('UNABLE TO OBTAIN', 'UNKNOWN')
QUALIFY row_number() OVER (
    PARTITION BY i.subject_id ORDER BY CAST(i.intime AS TIMESTAMP) DESC) = 1
