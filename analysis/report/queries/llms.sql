select llm, display_name from seeds.llms
order by llm
