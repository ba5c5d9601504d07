select llm, display_name, vendor from seeds.llms
order by llm
