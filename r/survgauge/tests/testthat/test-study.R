test_that("a study writes its folder and returns its numbers", {
  skip_without_command()
  v <- veterans()
  out <- tempfile("study")
  S <- survfit(v$cox, newdata = v$test)
  study <- sg_study(
    list(cox = S), v$y, out, train = v$y_train, time = 180, unit = "days", threshold = 0.5,
    by = v$test["trt"], describe = v$test[c("age", "trt")], describe_train = v$train[c("age", "trt")],
    args = c("--metrics", "brier,net_benefit")
  )
  expect_true(all(c("table1.md", "table2.md", "methods.md", "results.json") %in% list.files(out)))
  expect_true(file.exists(study$report))
  expect_true(any(grepl("^\\| age, median", readLines(file.path(out, "table1.md")))))
  ev <- sg_evaluate(list(cox = S), v$y, train = v$y_train, time = 180, metrics = "brier", report = NULL)
  expect_equal(study$metrics$value[study$metrics$metric == "brier"][[1]], value(ev, "brier"))
  expect_error(sg_study(list(cox = S), v$y, out), "has files already", class = "survgauge_error")
})

test_that("columns to describe fit the subjects", {
  v <- veterans()
  expect_error(
    sg_study(list(a = v$test$karno), v$y, tempfile(), describe = v$train["age"]),
    "age must have a value for each subject", class = "survgauge_error"
  )
})

test_that("several causes are asked for in the words of R", {
  skip_without_command()
  time <- c(3, 5, 6, 8, 9, 11, 12, 14)
  y <- Surv(time, factor(c("a", "b", "no", "b", "a", "no", "b", "a"), c("no", "a", "b")))
  S <- matrix(c(0.1, 0.2), 8, 2, byrow = TRUE, dimnames = list(NULL, c(5, 10)))
  expect_error(sg_evaluate(list(m = S), y, cause = "a"), "a list with a matrix of cumulative incidence for each")
  expect_error(sg_evaluate(list(m = list(a = S)), y, cause = "a"), "no matrix for the cause 'b'")
})

test_that("what is printed names arguments of R", {
  told <- c("give --features to check it.", "Give --tau.", "All 25 metrics; everything: --all;", "report: --html FILE")
  expect_identical(
    in_words_of_r(told),
    c("give X_train and X_test to check it.", "Give tau.",
      "All 25 metrics; everything: $metrics, $comparisons, $warnings")
  )
})
