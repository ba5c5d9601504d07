select llm, display_name, vendor from seeds.llms
where not starts_with(llm, 'sim/')
order by llm
