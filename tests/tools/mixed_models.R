# Fits of document A's mixed models by lme4, as long rows: sample, fit, estimation, quantity, name, value.
suppressPackageStartupMessages(library(lme4))

paths <- commandArgs(trailingOnly = TRUE)
trials <- read.csv(paths[1], stringsAsFactors = TRUE)
trials$half <- ifelse(trials$anchor_direction == "high", 0.5, -0.5)
fits <- list(
  intercept = "0 + technique + (1 | llm)",
  direction = "0 + technique + half + (1 | llm)",
  interaction = "0 + technique + technique:half + (1 | llm)",
  slopes = "0 + technique + (0 + technique | llm)"
)
control <- lmerControl(
  optimizer = "bobyqa",
  optCtrl = list(maxfun = 1e6, rhoend = 1e-10),
  check.conv.singular = "ignore",
  calc.derivs = FALSE
)

rows <- list()
for (sample in unique(trials$sample)) {
  part <- droplevels(trials[trials$sample == sample, ])
  for (fit in names(fits)) {
    right <- paste(fits[[fit]], if (nlevels(part$vignette) > 1) "+ (1 | vignette)")
    for (estimation in c("REML", "ML")) {
      formula <- as.formula(paste("percent_of_baseline ~", right))
      fitted <- lmer(formula, part, REML = estimation == "REML", control = control)
      variances <- lapply(VarCorr(fitted), diag)
      values <- c(
        setNames(as.numeric(logLik(fitted)), "log_likelihood."),
        setNames(sigma(fitted)^2, "variance.residual"),
        setNames(fixef(fitted), paste0("coefficient.", seq_along(fixef(fitted)))),
        setNames(variances$llm, paste0("variance.llm", seq_along(variances$llm))),
        if (!is.null(variances$vignette)) setNames(variances$vignette, "variance.vignette1")
      )
      rows[[length(rows) + 1]] <- data.frame(
        sample = sample, fit = fit, estimation = estimation, quantity = names(values), value = unname(values)
      )
    }
  }
}
write.csv(format(do.call(rbind, rows), digits = 15), paths[2], row.names = FALSE, quote = FALSE)
