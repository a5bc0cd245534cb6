test_that("numbers keep all their digits", {
  x <- c(1 / 3, 0.1, 1e-300, 123456789.123456789, pi * 1e17, 0, NA)
  path <- tempfile(fileext = ".csv")
  survgauge:::write_table(data.frame(x = x, "a b" = "say \"no\", or yes", check.names = FALSE), path)
  read <- read.csv(path, check.names = FALSE)
  expect_identical(sprintf("%a", read$x), sprintf("%a", x))
  expect_equal(read[["a b"]][[1]], "say \"no\", or yes")
  expect_equal(survgauge:::short_digits(c(365, 0.1, 1 / 3)), c("365", "0.1", "0.33333333333333331"))
})

test_that("each kind of outcomes has its columns", {
  table <- survgauge:::outcome_table
  expect_equal(table(Surv(c(1, 2), c(1, 0)), "y"), data.frame(time = c(1, 2), event = c(1, 0)))
  expect_equal(names(table(Surv(c(0, 1), c(3, 2), c(1, 0)), "y")), c("entry", "time", "event"))
  causes <- factor(c("no", "b", "a"), c("no", "a", "b"))
  expect_equal(table(Surv(1:3, causes), "y")$event, c(0, 2, 1))
  between <- Surv(c(1, NA, 3, 4), c(2, 5, NA, 4), type = "interval2")
  expect_equal(table(between, "y"), data.frame(lower = c(1, 0, 3, 4), upper = c(2, 5, Inf, 4)))
  expect_error(table(Surv(c(1, NA), c(1, 1)), "y"), "NA in row 2", class = "survgauge_error")
  expect_error(table(c(1, 2), "train"), "train must be made by survival::Surv", class = "survgauge_error")
})
