/**
 * Pieces of usual payloads and headers, without what differs from commit to commit. Records are packed against them. The
 * text is part of the schema: with any other, no packed record can be read.
 */
export const recordDictionary = [
  '{"agent_id":"agt_","input":"","turn_id":"turn_"}{"channel":"text","content":"","offset":0,"round":1}{"answer":"","answered_by":"","decision":"approve","digest":"',
  '"}{"error_code":"","error_summary":"","finish":"stop","output":"","epoch":1,"summary":"","text":"","usage":{"input_tokens":1,"output_tokens":1}}',
  '{"call_ids":["call_"],"round":1,"text":"","usage":{"input_tokens":1,"output_tokens":1}}\n{"arguments":{},"call_id":"call_","definition_sha256":"","tool_name":""}',
  '\n{"action_detail":{"args":{},"method":"","service":""},"action_summary":"","action_type":"tool_call","definition_sha256":"","idempotency_key":"call_","idempotent":false,',
  '"idempotent":true,"irreversible":false,"key_scope":"session","read_only":false,"read_only":true,"timeout_ms":120000}\n{}\n{}',
  '{"call_id":"call_","duration_ms":0,"output":"","status":"success"}\n{"result":""}\n{"action_summary":"","action_type":"tool_call","duration_ms":1,"error_summary":null,',
  '"execution_id":"exe_","final_status":"completed","irreversible":false,"result_summary":"","type":"execution_fact"}\n{"results":[{"call_id":"call_","error_summary":null,',
  '"label":"SUCCESS","result_summary":"","summary":""}]}',
  // A session begins, a run, a turn.
  '{"actor":"graph_runner","agent_id":"agt_","at":1,\u0002,"runes":[{"agent_id":null,"kind":"session.created","move":["session",null,null,"created"],\u0001},',
  '{"kind":"agent.spawning","move":["agent",null,null,"spawning"],\u0001},{"kind":"agent.ready","move":["agent","spawning","init_complete","idle"],\u0001},',
  '{"agent_id":null,"kind":"session.activated","move":["session","created","first_message","active"],\u0001},',
  '{"actor":"human","kind":"run.submitted","move":["run",null,null,"queued"],\u0001,"run_id":"run_","session_id":"ses_"}',
  ',"visibility":"internal","request_id":"req_","subject_id":"","schema_version":2,"goal_id":"goal_","task_id":"task_","coordination_id":"coo_",',
  '{"actor":"graph_runner","agent_id":"agt_","at":1,\u0002,"run_id":"run_","runes":[{"guards":[{"because":"The session is active.","guard":"session_is_active","holds":true}],',
  '"kind":"run.moved","move":["run","queued","turn.started","running"],\u0001,"turn_id":null},{"guards":[{"because":',
  '"It is the first turn of its run and begins with what was submitted.","guard":"input","holds":true}],"kind":"turn.started","move":["turn","idle","start_turn","streaming"],',
  '\u0001}],"session_id":"ses_","turn_id":"turn_"}{"kind":"turn.assistant_delta",\u0001,"visibility":"internal"}],',
  // A run waits for a person, and goes on.
  '{"actor":"human","agent_id":"agt_","at":1,"call_id":"call_",\u0002,"execution_id":"exe_","interaction_id":"int_","run_id":"run_","runes":[{"kind":"interaction.answered",',
  '"move":["interaction","open","answer","answered"],\u0001},{"call_id":null,"execution_id":null,"interaction_id":null,',
  '"kind":"run.moved","move":["run","waiting_user","interaction.reply.accepted","queued"],"turn_id":null}],"session_id":"ses_","turn_id":"turn_"}',
  '{"kind":"tool.approved","move":["tool","awaiting_approval","approved","executing"],\u0001},',
  '{"actor":"graph_runner","kind":"contract.moved","move":["contract","waiting","resume","running"],\u0001}],',
  '{"actor":"reasoning","kind":"contract.opened","move":["contract",null,null,"pending"],\u0001},',
  '{"actor":"policy","kind":"tool.approval_requested","move":["tool","pending_call","requires_approval","awaiting_approval"],\u0001},',
  '{"actor":"tool_node","kind":"contract.moved","move":["contract","running","suspend","waiting"],\u0001},',
  '{"actor":"graph_runner","interaction_id":"int_","kind":"interaction.opened","move":["interaction",null,null,"open"],\u0001},',
  '{"actor":"graph_runner","call_id":null,"execution_id":null,"guards":[{"because":"The run is interactive.","guard":"mode_is_interactive","holds":true}],',
  '"kind":"run.moved","move":["run","running","turn.needs_input","waiting_user"],\u0001,"turn_id":null}],"session_id":"ses_","turn_id":"turn_"}',
  // A run ends.
  '{"actor":"reasoning","agent_id":"agt_","at":1,\u0002,"run_id":"run_","runes":[{"guards":[{"because":"No call is open.","guard":"no_tool_calls","holds":true}],',
  '"kind":"turn.completed","move":["turn","streaming","response_done","completed"],\u0001},{"actor":"graph_runner",',
  '"kind":"run.moved","move":["run","running","turn.succeeded","succeeded"],\u0001,"turn_id":null}],"session_id":"ses_","turn_id":"turn_"}',
  // A tool is called, and its result comes back.
  '{"actor":"reasoning","agent_id":"agt_","at":1,"call_id":"call_",\u0002,"execution_id":"exe_","run_id":"run_","runes":[{"call_id":null,"execution_id":null,',
  '"kind":"turn.tool_calls_received","move":["turn","streaming","tool_calls_received","tool_executing"],\u0001},',
  '{"kind":"tool.call","move":["tool",null,null,"pending_call"],\u0001},{"kind":"contract.opened","move":["contract",null,null,"pending"],\u0001},',
  '{"actor":"tool_node","kind":"tool.moved","move":["tool","pending_call","no_approval_needed","executing"]},',
  '{"actor":"tool_node","kind":"contract.moved","move":["contract","pending","start","running"]}],"session_id":"ses_","turn_id":"turn_"}',
  '{"actor":"tool_node","agent_id":"agt_","at":1,"call_id":"call_",\u0002,"execution_id":"exe_","run_id":"run_","runes":[{"kind":"tool.result",',
  '"move":["tool","executing","success","completed_result"],\u0001},{"kind":"contract.moved","move":["contract","running","succeed","completed"],\u0001},',
  '{"actor":"graph_runner","kind":"memory.committed",\u0001},{"actor":"graph_runner","call_id":null,"execution_id":null,',
  '"guards":[{"because":"The model gets the results.","guard":"continue","holds":true}],"kind":"turn.tools_finished",',
  '"move":["turn","tool_executing","tools_finished","streaming"],\u0001}],"session_id":"ses_","turn_id":"turn_"}',
].join('')
