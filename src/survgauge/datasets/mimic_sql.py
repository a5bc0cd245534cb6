"""The rules of the two MIMIC-IV cohorts, as SQL over tables by their plain names.

Every column is cast where it is used, so that the same text works on CSV files read as text and on
typed tables of a database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HOSPITAL_TABLES = ("patients", "admissions", "drgcodes")
ICU_TABLES = ("patients", "admissions", "icustays")
FIRST_DAY_TABLES = (
    "first_day_height",
    "first_day_weight",
    "first_day_sofa",
    "first_day_vitalsign",
    "first_day_lab",
)
HOSPITAL_FEATURES = (
    "male",
    "age",
    "white",
    "medicare",
    "medicaid",
    "english",
    "married",
    "emergency",
    "drg_severity",
    "drg_mortality",
)
_IDENTIFIERS = ("subject_id", "hadm_id", "stay_id")
_KNOWN_PERSON = (
    "p.gender IS NOT NULL AND a.race IS NOT NULL AND a.race NOT IN ('UNABLE TO OBTAIN', 'UNKNOWN')"
)
_AGE = (
    "CAST(p.anchor_age AS DOUBLE) + date_part('year', CAST({when} AS TIMESTAMP)) "
    "- CAST(p.anchor_year AS DOUBLE)"
)

# One row per admission: the last of its APR rows, in the order of the file.
HOSPITAL_COHORT = f"""
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
        {_AGE.format(when="a.admittime")} AS age,
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
    WHERE {_KNOWN_PERSON}
)
SELECT * FROM cohort WHERE time >= 1 ORDER BY subject_id, hadm_id
"""

# The last ICU stay of more than a day of everybody whose gender and race are known. The date of
# death has no clock time, so it is compared with the date of admission to the unit.
ALL_CAUSE_COHORT = f"""
SELECT
    CAST(i.subject_id AS BIGINT) AS subject_id,
    CAST(i.stay_id AS BIGINT) AS stay_id,
    CAST(p.dod AS DATE) AS dod,
    CAST(p.dod IS NOT NULL AS INTEGER) AS event,
    CAST(CASE WHEN p.dod IS NOT NULL
        THEN date_diff('day', CAST(CAST(i.intime AS TIMESTAMP) AS DATE), CAST(p.dod AS DATE))
        ELSE round(CAST(i.los AS DOUBLE)) END AS DOUBLE) AS time,
    {_AGE.format(when="i.intime")} AS age,
    CAST(p.gender = 'M' AS DOUBLE) AS male
FROM icustays AS i
JOIN patients AS p ON p.subject_id = i.subject_id
JOIN admissions AS a ON a.hadm_id = i.hadm_id
WHERE CAST(i.los AS DOUBLE) > 1 AND {_KNOWN_PERSON}
QUALIFY row_number() OVER (
    PARTITION BY i.subject_id ORDER BY CAST(i.intime AS TIMESTAMP) DESC) = 1
"""


def quoted(name: str) -> str:
    """Quote a name for SQL: names of columns come from files, and may hold anything.

    >>> quoted('a"; DROP TABLE b; --')
    '"a""; DROP TABLE b; --"'
    """
    return '"' + name.replace('"', '""') + '"'


def first_day_query(columns: Mapping[str, Sequence[str]]) -> str:
    """Join the cohort with every measurement of the first-day tables.

    A column that two tables share (glucose is a vital sign and a lab value) gets the table's name
    in front in the later one.
    """
    taken = {"subject_id", "age", "male", "time", "event"}
    selected, joins = [], []
    for table in columns:
        alias = quoted(table)
        joins.append(f"LEFT JOIN {alias} ON CAST({alias}.stay_id AS BIGINT) = c.stay_id")
        for column in columns[table]:
            if column.lower() in _IDENTIFIERS:
                continue
            name = column
            while name.lower() in taken:  # names in SQL do not differ by case alone
                name = f"{table.removeprefix('first_day_')}_{name}"
            taken.add(name.lower())
            selected.append(f"TRY_CAST({alias}.{quoted(column)} AS DOUBLE) AS {quoted(name)}")
    measurements = "".join(f",\n    {item}" for item in selected)
    return (
        f"WITH c AS ({ALL_CAUSE_COHORT})\n"
        f"SELECT c.subject_id, c.time, c.event, c.age, c.male{measurements}\n"
        f"FROM c\n{chr(10).join(joins)}\nORDER BY c.subject_id"
    )
