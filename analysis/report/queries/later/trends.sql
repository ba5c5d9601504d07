select study, slope, low, high, n_llms, reason from papers.sensitivity_trends
where evidence_from = 'scores' and specification = 'published' and metric = 'abss' and not has_v0
order by study
