library(testthat)
library(survgauge)

test_check("survgauge")
