-- The cohort of hospital mortality: one row per admission, with the last of its APR rows, in the order
-- of the file. Every column is cast where it is used, so that the same text works on CSV files read as
-- text and on typed tables of a database.
WITH numbered AS (
    SELECT *, row_number() OVER () AS position FROM drgcodes
), apr AS (
    SELECT * FROM numbered WHERE drg_type = 'APR'
    QUALIFY row_number() OVER (PARTITION BY subject_id, hadm_id ORDER BY position DESC) = 1
), cohort AS (
    SELECT
        CAST(a.subject_id AS BIGINT) AS subject_id,
        CAST(a.hadm_id AS BIGINT) AS hadm_id,
        CAST(a.hospital_expire_flag AS INTEGER) AS event,
        round(date_diff('second', CAST(a.admittime AS TIMESTAMP),
            CAST(coalesce(
                CASE WHEN CAST(a.hospital_expire_flag AS INTEGER) = 1 THEN a.deathtime END,
                a.dischtime) AS TIMESTAMP)) / 86400.0) AS time,
        CAST(p.gender = 'M' AS DOUBLE) AS male,
        CAST(p.anchor_age AS DOUBLE) + date_part('year', CAST(a.admittime AS TIMESTAMP))
            - CAST(p.anchor_year AS DOUBLE) AS age,
        CAST(a.race LIKE 'WHITE%' AS DOUBLE) AS white,
        CAST(coalesce(a.insurance = 'Medicare', false) AS DOUBLE) AS medicare,
        CAST(coalesce(a.insurance = 'Medicaid', false) AS DOUBLE) AS medicaid,
        CAST(coalesce(upper(a.language) = 'ENGLISH', false) AS DOUBLE) AS english,
        CAST(coalesce(a.marital_status = 'MARRIED', false) AS DOUBLE) AS married,
        CAST(a.edregtime IS NOT NULL AS DOUBLE) AS emergency,
        CAST(d.drg_severity AS DOUBLE) AS drg_severity,
        CAST(d.drg_mortality AS DOUBLE) AS drg_mortality
    FROM admissions AS a
    JOIN patients AS p ON p.subject_id = a.subject_id
    JOIN apr AS d ON d.subject_id = a.subject_id AND d.hadm_id = a.hadm_id
    WHERE p.gender IS NOT NULL AND a.race IS NOT NULL
        AND a.race NOT IN ('UNABLE TO OBTAIN', 'UNKNOWN')
)
SELECT * FROM cohort WHERE time >= 1 ORDER BY subject_id, hadm_id
