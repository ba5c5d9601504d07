"""What the models of the ledger make of claims: a row says what is printed and found of one -> what that comes to."""

from analysis.claims.derivations import COLUMNS
from tests.tools.contracts import columns_of, relation_of
from tests.tools.unit_models import differences

BY_PYTHON = {"int_claims_derived": COLUMNS, "fewest_llms": {"n_llms": "bigint"}}
GIVEN = {
    "quantities": [], "stg_batches": [{"study": "s"}, {"study": "scored"}], "fewest_llms": [{"n_llms": 5}],
    "stg_attribution_scores": [{"study": "scored"}], "controls": [], "techniques": [], "int_studies_cited": [],
    "conditions": [], "vignettes": [], "stg_counts": [],
}  # fmt: skip


def columns(name):
    """The columns of what a model reads, with their types."""
    return BY_PYTHON.get(name) or columns_of(relation_of(name))


def wrong(model, expected, given, **variables):
    """The rows that a model does not make of others (`-`), and those that it makes besides (`+`)."""
    test = {
        "model": model,
        "overrides": {"vars": variables},
        "given": [{"input": f"ref('{name}')", "rows": rows} for name, rows in given.items()],
        "expect": {"rows": expected},
    }
    return differences(test, {name: columns(name) for name in given})


def misjudged(text, margin=5, given=(), **alike):
    """What `claim_checks` does not make of these rows; a column of which all say the same is in `alike`."""
    head, *rows = [[side.split(",") for side in line.split(" -> ")] for line in text.split("\n")]
    found = [
        {"of_version": "cited"} | alike | {name: value or None for name, value in zip(head[0], left, strict=True)}
        for left, _ in rows
    ]
    inputs = {
        table: [{name: row[name] for name in columns(table) if name in row} for row in found]
        for table in ("published_claims", "int_claims_derived")
    }
    expected = [
        {name: row.get(name) for name in ("claim_id", "part")}
        | {name: value or None for name, value in zip(head[1], right, strict=True)}
        for row, (_, right) in zip(found, rows, strict=True)
    ]
    return wrong("claim_checks", expected, GIVEN | inputs | dict(given), equivalence_margin_pp=margin)


def test_a_value_is_given_again_to_its_printed_digit_and_a_sentence_in_its_order():
    rows = """\
claim_id,part,inputs_are,kind,comparison,published_value,decimals,recomputed_value,recomputed_low,recomputed_high -> \
recomputes
same,,,value,=,18.1,1,18.1499,, -> yes
other,,,value,=,18.2,1,18.1499,, -> no
about,,,value,=,20,-1,18.1499,, -> yes
above,,,sentence,>,18,1,18.1499,, -> yes
below,,,sentence,<,18,0,18.1499,, -> no
half_a_digit,,,value,=,72.9,1,72.85,, -> yes
parts,a,,value,=,18.1,1,18.1499,, -> yes
parts,b,,value,=,18.2,1,18.1499,, -> no
p_value,,,value,=,3.2e-12,13,3.24e-12,, -> yes
other_p_value,,,value,=,4.1e-12,13,3.24e-12,, -> no
from_print,,printed,value,=,2.05,2,2.07,2.05,2.09 -> yes
not_from_print,,printed,value,=,2.2,1,2.07,2.05,2.09 -> no"""
    assert misjudged(rows, study="s", quantity="baseline", unit="months") == []


def test_what_cannot_be_checked_says_why():
    rows = """\
claim_id,study,not_derivable,recomputed_value -> recomputes,holds,why,how_sure
lost,s,The data are older.,18.1 -> not_derivable,not_applicable,not_derivable,
elsewhere,not_loaded,, -> not_checked,not_applicable,study_not_loaded,
unknown,s,, -> not_checked,not_applicable,not_recorded,
found,s,,18.1 -> yes,not_applicable,,"""
    alike = {"quantity": "baseline", "kind": "value", "unit": "months", "comparison": "=", "published_value": 18.1}
    given = {"quantities": [{"quantity": "baseline", "describes": "record"}]}
    assert misjudged(rows, given=given, decimals=1, **alike) == []


def test_what_the_whole_interval_says_is_told_apart_from_what_the_estimate_alone_says():
    numbers = """\
claim_id,llm,confounded_by,recommended_value,recommended_low,recommended_high,n_llms -> \
holds,why,how_sure,is_of_few_llms
equal,,,20.4,0,40,10 -> holds,as_printed,estimate,false
narrow,,,21,16,26,10 -> holds,whole_interval,interval,false
wide,,,21,15,27,10 -> weaker,wide_interval,estimate,false
one_sided,,,20.6,20,26,10 -> weaker,wide_interval,estimate,false
outside,,,23,21,25,10 -> contradicted,outside_interval,interval,false
no_interval,,,21,,,10 -> weaker,no_interval,estimate,false
far_off,,,26,,,10 -> other_way,estimate_alone,estimate,false
no_number,,,,,,10 -> ,not_recommended,,false
two_llms,,,21,16,26,2 -> weaker,few_llms,estimate,true
few_equal,,,20.1,16,25,2 -> holds,as_printed,estimate,true
one_llm,a,,21,16,26,1 -> holds,whole_interval,interval,false
other_prompts,,One prompt says more,20.4,0,40,10 -> confounded,unlike_conditions,,false
other_prompts_outside,,One prompt says more,23,21,25,10 -> confounded,unlike_conditions,,false"""
    same = {"study": "s", "quantity": "spread_pp", "kind": "value", "unit": "pp", "comparison": "="}
    same |= {"published_value": 20, "decimals": 0, "recomputed_value": 20}
    assert misjudged(numbers, **same) == []
    others = """\
claim_id,quantity,unit,comparison,published_value,recommended_value,recommended_low,recommended_high -> \
holds,why,how_sure
far_off_end,spread_pp_low,pp,=,20,26,, -> contradicted,another_bound,exact
p_value,interaction_p,1,<,0.001,0.06,, -> contradicted,read_otherwise,exact
place,rank_by_gap,rank,=,1,1,1,1 -> holds,whole_interval,interval
open_place,rank_by_gap,rank,=,1,2,1,3 -> weaker,wide_interval,estimate
bound,spread_pp,pp,<,20,10,5,15 -> holds,whole_interval,interval
open_bound,spread_pp,pp,<,20,10,-5,25 -> weaker,wide_interval,estimate"""
    assert misjudged(others, **same | {"n_llms": 10}) == []
    sentences = """\
claim_id,recommended_value,recommended_low,recommended_high,n_llms -> holds,why,how_sure,is_of_few_llms
whole_interval,6,2,10,10 -> holds,whole_interval,interval,false
sign_alone,6,-2,14,10 -> weaker,wide_interval,estimate,false
sign_without,6,,,10 -> weaker,no_interval,estimate,false
other_sign,-6,-14,2,10 -> other_way,interval_allows_both,estimate,false
other_without,-6,,,10 -> other_way,estimate_alone,estimate,false
wholly_other,-6,-10,-2,10 -> contradicted,outside_interval,interval,false
few_llms,6,2,10,2 -> weaker,few_llms,estimate,true
few_without,6,,,2 -> weaker,no_interval,estimate,true"""
    of_sentence = {"quantity": "gain_by_gap", "kind": "sentence", "comparison": ">", "published_value": 0}
    assert misjudged(sentences, **same | of_sentence | {"recomputed_value": -1}) == []


def test_what_scores_say_is_read_off_and_exact():
    rows = """\
claim_id,quantity,kind,unit,comparison,published_value,decimals,recomputed_value,recommended_value -> holds,why,how_sure
stars_same,stars_behaviour,value,stars,=,3,0,3,3 -> holds,as_many_stars,exact
stars_fewer,stars_behaviour,value,stars,=,3,0,3,1 -> weaker,fewer_stars,exact
stars_more,stars_behaviour,value,stars,=,1,0,1,2 -> holds,more_stars,exact
none_printed,stars_behaviour,value,stars,=,0,0,0,1 -> contradicted,denied_stars,exact
scored_sign,sign_attribution,value,sign,=,-1,0,1,1 -> contradicted,read_otherwise,exact
near,soft_ev_band_low,value,pp,=,30.2,1,30.2,30.4 -> holds,read_off,exact
far,soft_ev_band_low,value,pp,=,30.2,1,30.2,40 -> contradicted,read_otherwise,exact
not_recoverable,delta_attribution,value,nats,=,0.5,1,0.5, -> ,not_recommended,
not_recorded,stars_behaviour,value,stars,=,1,0,, -> ,not_recorded,
all_three,stars_behaviour,sentence,stars,>,2.5,1,3,3 -> holds,as_many_stars,exact
all_three_none,stars_behaviour,sentence,stars,>,2.5,1,3,2 -> weaker,fewer_stars,exact"""
    assert misjudged(rows, study="scored", n_llms=1) == []


def test_a_claim_is_about_the_version_that_its_paper_used():
    rows = """\
claim_id,document,recomputed_value,recommended_value -> \
version,recomputes,holds,newest_value,newest_recomputes,newest_holds
moved,A,18.1,18.1 -> v1,yes,holds,30,no,other_way
of_no_version,B,30,30 -> ,no,other_way,,,
of_the_newest,C,30,30 -> v2,no,other_way,,,"""
    claims = [{"claim_id": "moved"}, {"claim_id": "of_no_version"}, {"claim_id": "of_the_newest"}]
    newest = {"of_version": "newest", "recomputed_value": 30, "recommended_value": 30}
    cited = newest | {"of_version": "cited"}
    derived = [claims[0] | cited | {"recomputed_value": 18.1, "recommended_value": 18.1}]
    derived += [claim | cited for claim in claims[1:]] + [claim | newest for claim in claims]
    cited_by = [
        {"document": "A", "study": "s", "label": "v1", "cited_study": "s@v1"},
        {"document": "C", "study": "s", "label": "v2"},
    ]
    alike = {"quantity": "baseline", "kind": "value", "unit": "%", "comparison": "=", "published_value": 18.1}
    given = {"int_claims_derived": derived, "int_studies_cited": cited_by}
    assert misjudged(rows, given=given, study="s", llm="l", decimals=1, **alike) == []


def test_what_a_claim_describes_and_with_what_it_is_confounded():
    rows = """\
claim_id,document,study,technique,technique_b,llm,quantity,derivation,inputs_are,unit,inputs -> \
describes,rests_on,confounded_by,margin,n_places
percent,A,s,sacd,,,percent_of_baseline,,,%, -> effect,trials,,4,2
percent_again,A,s,sacd,,,percent_of_baseline,,,%, -> effect,trials,,4,2
percent_elsewhere,B,s,sacd,,,percent_of_baseline,,,%, -> effect,trials,,4,1
change,A,s,sacd,,,spread_change_percent,,,%, -> effect,trials,Other prompts,4,1
change_of_another,A,s,premortem,,,spread_change_percent,,,%, -> effect,trials,,4,1
difference,A,s,sacd,premortem,,percent_of_baseline_difference,,,SD, -> effect,trials,Other prompts,0.2,1
on_itself,A,s,sacd,sacd_initial,,percent_of_baseline_difference,,,%, -> effect,trials,,4,1
another_study,A,t,sacd,,,spread_change_percent,,,%, -> effect,trials,,4,1
place,A,s,sacd,,,rank_by_deviation,,,rank, -> effect,trials,Other prompts,0,1
unranked,A,s,outside_view,,,mean_response,,,months, -> effect,trials,Names a place,1.5,1
on_a_version,V,s,sacd,,,mean_response,,,months, -> effect,trials,,1.6,1
count,A,s,sacd,,,n_trials,,,trials, -> record,trials,,,1
count_2,A,s,premortem,,,n_trials,,,trials, -> record,trials,,,1
alpha,A,s,sacd,,,alpha,,,1, -> protocol,trials,,,1
sum_of_counts,A,s,,,,,sum,,trials,count count_2 -> record,trials,,,1
derived_difference,A,s,,,,,difference,,pp,percent unranked -> effect,trials,Other prompts,4,1
of_people,A,,sacd,,,,,,months, -> record,,,,1
of_scores,A,scored,sacd,,,abss,,,1, -> effect,scores,,,1
from_scores,A,,sacd,,,,mean,,1,of_scores -> effect,scores,,,1
from_print,A,,sacd,,,,mean,printed,1,of_scores -> effect,printed numbers,,,1
of_an_llm,A,,,,l,similarity,,,1, -> effect,,,,1
n_inputs,A,,,,,alpha,count,printed,techniques,of_an_llm -> protocol,printed numbers,,,1"""
    baseline = {"paradigm": "anchoring", "is_baseline": True, "n_trials": 9, "study": "s", "domain": "d"}
    baseline |= {"row_set": "accepted", "temperature_scope": "pooled", "mean": 37.5}
    own = {"study": "s", "domain": "d", "technique": "sacd", "control": "sacd_initial", "comparison": "control"}
    given = {
        "quantities": [{"quantity": "n_trials", "describes": "record"}, {"quantity": "alpha", "describes": "protocol"}],
        "controls": [{"control": "no_technique", "comparison": "control"}, own | {"because": "Other prompts"}],
        "techniques": [
            {"technique": "no_technique", "is_ranked": False},
            {"technique": "sacd_initial", "is_ranked": False},
            {"technique": "sacd", "is_ranked": True},
            {"technique": "premortem", "is_ranked": True},
            {"technique": "outside_view", "is_ranked": False, "description": "Asks; unranked because Names a place"},
        ],
        "conditions": [baseline, baseline | {"study": "s@v1", "mean": 40}],
        "int_studies_cited": [{"document": "V", "study": "s", "cited_study": "s@v1"}],
        "vignettes": [{"response_unit": "months"}],
    }
    alike = {"domain": "d", "kind": "value", "comparison": "=", "published_value": 90}
    assert misjudged(rows, 4, given, **alike) == []
    # what a paper says of its own claims is said of effects alone
    rows = """\
claim_id,quantity,derivation,inputs_are,inputs,unit,llm -> describes,confounded_by
of_an_llm,similarity,,,,1,l -> effect,Other models judged
unlike,,mean,printed,of_an_llm,1, -> effect,Other models judged
n_inputs,alpha,count,printed,of_an_llm,techniques, -> protocol,"""
    assert misjudged(rows, 4, given, **alike | {"confounded_by": "Other models judged"}) == []


LISTED = {
    "marts.trials": (
        "trial_id, llm, technique, anchor_direction, temperature, status, response, response_recorded, first_response, "
        "baseline",
        "technique, anchor_direction",
    ),
    "intermediate.int_scores_accepted": (
        "llm, variation, anchor_direction, anchor, target, log_probability, banzhaf_anchor",
        "variation, anchor, target",
    ),
}
WITH_QUARANTINED = "(from marts.trials union all by name from marts.quarantined_trials)"
LISTED[WITH_QUARANTINED] = LISTED["marts.trials"]


def test_what_a_derived_claim_shares_with_its_inputs_is_said_once():
    claim = {"document": "A", "study": "s", "quantity": "mean_response", "technique": "it's", "row_set": "accepted"}
    low, high = claim | {"anchor_direction": "low"}, claim | {"anchor_direction": "high"}
    scored = {"study": "scored", "llm": "v/a", "method": "published"}
    first = {"part": "b", "technique": "sacd_initial", "row_set": "as_recorded"}
    claims = {
        "low": low,
        "high": high | {"document": "B", "excluded_llm": "v/a w/b"},
        "first": low | first,
        "of_a_part": {"inputs": " spread  first/b of_a_part"},
        "spread": {"inputs": "low_again low"},
        "low_again": high,
        "of_people": {},
        "from_print": {"inputs": "low", "inputs_are": "printed"},
        "of_scores": scored | {"variation": "V1-S", "anchor_direction": "low", "quantity": "soft_ev"},
        "of_two_llms": scored | {"llm_b": "w/b", "quantity": "abss_difference"},
        "of_a_pair": low | {"technique": "sacd", "technique_b": "premortem", "non_null": "both"},
        "of_techniques": low | {"technique": None, "method": "trial"},
    }
    its, answered = "technique = 'it''s'", "status = 'answered'"
    is_low, is_high = (f"anchor_direction = '{direction}'" for direction in ("low", "high"))
    of_first = ("technique = 'sacd'", is_low, "first_response is not null")
    parts = [(its, is_high, answered), (its, is_low, answered), of_first]
    either = "\n        or ".join(f"({' and '.join(part)})" for part in parts)
    ranked = "technique in (select technique from seeds.techniques where is_ranked)"
    scores, trials = "intermediate.int_scores_accepted", "marts.trials"
    conditions = {
        "of_scores": (scores, "study = 'scored'", "llm = 'v/a'", "variation = 'V1-S'", is_low),
        "of_two_llms": (scores, "study = 'scored'", "llm in ('v/a', 'w/b')", "variation != 'V0'"),
        "low": (trials, "study = 's'", its, is_low, answered),
        "low_again": (trials, "study = 's'", its, is_high, answered),
        "high": (trials, "study = 's@v1'", "llm not in ('v/a', 'w/b')", its, is_high, answered),
        "first": (WITH_QUARANTINED, "study = 's'", *of_first),
        "spread": (
            trials, "study = 's'", its, answered, f"(\n        {is_high}\n        or {is_low}\n    )",
        ),
        "of_a_part": (WITH_QUARANTINED, "study = 's'", f"(\n        {either}\n    )"),
        "of_a_pair": (
            trials, "study = 's'", "technique in ('sacd', 'premortem')", is_low, answered,
            "(technique != 'sacd' or first_response is not null)",
        ),
        "of_techniques": (trials, "study = 's'", ranked, is_low, answered),
    }  # fmt: skip
    expected = []
    for name, (table, *those) in conditions.items():
        listed, order = LISTED[table]
        query = f"select {listed}\nfrom {table}\nwhere\n    " + "\n    and ".join(those) + f"\norder by llm, {order};"
        expected.append({"claim_id": name, "trials_query": query})
    given = {
        "published_claims": [{"claim_id": name} | claim for name, claim in claims.items()],
        "int_studies_cited": [{"document": "B", "study": "s", "cited_study": "s@v1"}],
        "stg_attribution_scores": [{"study": "scored"}],
    }
    assert wrong("claim_trials", expected, given) == []


def test_what_is_recommended_in_place_of_each_claim():
    whole = {"quantity": "percent_of_baseline", "temperature_scope": "1", "weighting": "trial"}
    whole |= {"document": "A", "study": "s", "estimator": "ratio_of_means"}
    left_out = whole | {"excluded_llm": "a b"}
    claims = {
        "on_purpose": left_out,
        "named": left_out | {"recommended_quantity": "percent_of_baseline"},
        "inferred": whole | {"recommended_method": "headline"},
        "by_deviation": whole | {"quantity": "rank_by_deviation_with_no_technique"},
        "without_llms": left_out | {"quantity": "rank_by_deviation"},
        "derived": {"study": "s", "derivation": "rank", "recommended_quantity": "gain_by_susceptibility"},
        "both": {"study": "s", "quantity": "metrics_disagree"},
        "of_scores": {"study": "scored", "llm": "l", "llm_b": "m", "quantity": "abss_difference"},
    }
    asked = """\
claim_id,purpose,quantity,excluded_llm,temperature_scope,weighting,estimator,anchor_direction,scoring_set
on_purpose,published,percent_of_baseline,a b,1,trial,ratio_of_means,,
on_purpose,recommended,percent_of_baseline,a b,1,llm,mean_of_ratios,,
named,published,percent_of_baseline,a b,1,trial,ratio_of_means,,
named,recommended,percent_of_baseline,,1,llm,mean_of_ratios,,
inferred,published,percent_of_baseline,,1,trial,ratio_of_means,,
inferred,recommended,percent_of_baseline,,,llm,,,
by_deviation,published,rank_by_deviation_with_no_technique,,1,trial,ratio_of_means,,
by_deviation,recommended,rank_by_displacement_with_no_technique,,1,llm,mean_of_ratios,,
without_llms,published,rank_by_deviation,a b,1,trial,ratio_of_means,,
without_llms,recommended,rank_by_deviation,a b,1,llm,mean_of_ratios,,
derived,recommended,gain_by_gap,,pooled,llm,mean_of_ratios,both,
both,published,metrics_disagree,,,,,,
both,recommended,goals_disagree,,,,,,
of_scores,published,abss_difference,,,,,,archive/l
of_scores,recommended,abss_difference,,,,,,archive/l"""
    head, *rows = [line.split(",") for line in asked.split("\n")]
    expected = []
    for row in ({name: value or None for name, value in zip(head, line, strict=True)} for line in rows):
        study, document = (claims[row["claim_id"]].get(name) for name in ("study", "document"))
        cited = f"{study}@v1" if document == "A" else study
        more = ({"of_version": "cited", "study": cited}, {"of_version": "newest", "study": study})
        expected += [row | of_version | {"scoring_set_b": None} for of_version in more]
    scores = {"l": {"recorded": "archive/l", "recorded_later": "later/l"}, "m": {"computed_here": "here/m"}}
    batches = {"recorded": "b1", "recorded_later": "b2"}
    given = {
        "published_claims": [{"claim_id": name} | claim for name, claim in claims.items()],
        "int_studies_cited": [{"document": "A", "study": "s", "cited_study": "s@v1"}, {"document": "A", "study": "t"}],
        "int_scores_accepted": [
            {"study": "scored", "llm": llm, "scoring": scoring, "scoring_set": scoring_set}
            for llm, sets in scores.items() for scoring, scoring_set in sets.items()
        ],
        "stg_attribution_scores": [{"scoring": scoring, "batch_id": batch} for scoring, batch in batches.items()],
        "stg_batches": [{"batch_id": "b1", "ordinal": 1}, {"batch_id": "b2", "ordinal": 2}],
    }  # fmt: skip
    assert wrong("int_claim_specifications", expected, given) == []
