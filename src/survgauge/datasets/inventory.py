"""Rows, events, largest event time and features of the sets that other packages bundle.

Counted with SurvSet 0.2.11, lifelines 0.30 and scikit-survival 0.28 after the columns named in
`packages` were dropped; loading compares, so that a changed package is noticed.
"""

from __future__ import annotations

from .record import Counts

SURVSET_COUNTS = {
    "actg": Counts(1151, 96, 298, 11),
    "Aids2": Counts(2839, 1761, 2252, 4),
    "AML_Bull": Counts(116, 67, 1220, 6283),
    "Bergamaschi": Counts(82, 28, 3.583333333, 10),
    "breast": Counts(100, 26, 70.328947, 4),
    "burn": Counts(154, 48, 51, 11),
    "cancer": Counts(228, 165, 883, 8),
    "cgd": Counts(128, 44, 373, 10),
    "chop": Counts(414, 165, 11, 3833),
    "colon": Counts(929, 452, 2910, 9),
    "cost": Counts(518, 404, 3647, 13),
    "d.oropha.rec": Counts(192, 139, 4.312328767, 9),
    "dataDIVAT1": Counts(5943, 976, 6225, 4),
    "dataDIVAT2": Counts(1837, 582, 16.63518138, 4),
    "dataDIVAT3": Counts(4267, 241, 3687, 6),
    "dataOvarian1": Counts(912, 544, 3378, 160),
    "DBCD": Counts(295, 79, 14.3600412, 4919),
    "Dialysis": Counts(6805, 1603, 43, 4),
    "divorce": Counts(3371, 1032, 50.379, 3),
    "DLBCL": Counts(240, 138, 16.9, 7399),
    "e1684": Counts(284, 196, 8.26301, 3),
    "flchain": Counts(7874, 2169, 4998, 8),
    "Framingham": Counts(4699, 1473, 11660, 7),
    "GBSG2": Counts(686, 299, 2456, 8),
    "glioma": Counts(37, 23, 53, 4),
    "grace": Counts(1000, 324, 177, 3),
    "gse1992": Counts(124, 35, 59, 15533),
    "gse3143": Counts(158, 50, 120, 8660),
    "gse4335": Counts(115, 38, 47, 12800),
    "hdfail": Counts(52422, 2885, 5745.791667, 6),
    "hepatoCellular": Counts(227, 97, 60, 43),
    "LeukSurv": Counts(1043, 879, 4965, 7),
    "MCLcleaned": Counts(92, 64, 14.05338809, 574),
    "Melanoma": Counts(205, 57, 3338, 5),
    "micro.censure": Counts(117, 26, 5.926027397, 40),
    "nki70": Counts(144, 48, 14.01232033, 75),
    "NSBCD": Counts(115, 38, 47, 549),
    "nwtco": Counts(4028, 571, 4173, 6),
    "ova": Counts(358, 266, 2142, 3),
    "ovarian": Counts(26, 12, 638, 4),
    "pbc": Counts(312, 125, 4191, 6),
    "Pbc3": Counts(349, 61, 1859, 12),
    "pharmacoSmoking": Counts(125, 89, 170, 11),
    "phpl04K8a": Counts(442, 236, 17, 21),
    "prostate": Counts(502, 354, 74, 15),
    "prostateSurvival": Counts(14294, 799, 117, 3),
    "rdata": Counts(1040, 547, 4940, 4),
    "rhc": Counts(5735, 3722, 1943, 52),
    "rott2": Counts(2982, 1272, 204.78029, 11),
    "scania": Counts(1931, 1086, 29.995, 5),
    "smarto": Counts(3873, 460, 3282, 26),
    "stagec": Counts(146, 54, 8, 6),
    "TRACE": Counts(1878, 958, 7.926, 6),
    "uis": Counts(628, 508, 659, 8),
    "UnempDur": Counts(3241, 1986, 27, 6),
    "Unemployment": Counts(452, 256, 112, 5),
    "vdv": Counts(78, 34, 4.91, 4705),
    "veteran": Counts(137, 128, 999, 6),
    "vlbw": Counts(617, 107, 3668, 14),
    "whas500": Counts(461, 176, 2358, 15),
    "wpbc": Counts(198, 47, 78, 32),
    "Z243": Counts(100, 100, 57, 6),
    "zinc": Counts(431, 81, 5930, 12),
}
LIFELINES_COUNTS = {
    "lifelines_rossi": Counts(432, 114, 52, 7),
    "lifelines_gbsg2": Counts(686, 299, 2456, 8),
    "lifelines_lymph_node": Counts(686, 171, 2450, 8),
    "lifelines_kidney_transplant": Counts(863, 140, 3146, 4),
    "lifelines_lung": Counts(228, 165, 883, 8),
    "lifelines_dd": Counts(1808, 1468, 47, 5),
    "lifelines_waltons": Counts(163, 156, 75, 1),
    "lifelines_larynx": Counts(90, 50, 7.8, 4),
    "lifelines_lupus": Counts(99, 31, 4.503857026, 4),
    "lifelines_leukemia": Counts(42, 30, 23, 3),
    "lifelines_regression": Counts(200, 189, 21.93997838, 3),
}
SKSURV_COUNTS = {
    "sksurv_aids": Counts(1151, 96, 298, 11),
    "sksurv_aids_death": Counts(1151, 26, 287, 11),
    "sksurv_breast_cancer": Counts(198, 51, 7185, 80),
    "sksurv_flchain": Counts(7874, 2169, 4998, 8),
    "sksurv_gbsg2": Counts(686, 299, 2456, 8),
    "sksurv_veterans_lung_cancer": Counts(137, 128, 999, 6),
    "sksurv_whas500": Counts(500, 215, 2358, 13),
}
# Sets of several causes.
SURVSET_CAUSES_COUNTS = {
    "follic_causes": Counts(541, 348, 29.667351129, 5, causes={"relapse": 272, "death": 76}),
    "mgus_causes": Counts(241, 227, 14111, 6, causes={"progression": 64, "death": 163}),
    "flchain_causes": Counts(
        7874, 2169, 4998, 8, causes={"circulatory": 745, "neoplasm": 567, "other": 857}
    ),
}
LIFELINES_CAUSES_COUNTS = {
    "lifelines_senators_causes": Counts(
        930, 831, 17731, 2, causes={"death": 494, "resignation": 201, "retirement": 136}
    ),
}
SKSURV_CAUSES_COUNTS = {
    "sksurv_bmt_causes": Counts(35, 24, 26, 1, causes={"transplant": 9, "relapse": 15}),
    "sksurv_cgvhd_causes": Counts(
        100, 96, 1.993, 4, causes={"cgvhd": 86, "relapse": 5, "death": 5}
    ),
}
