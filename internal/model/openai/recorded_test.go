package openai

// recordedItems is a stream of the Responses API with everything in it that a reply of ours can have, in the form that
// recordings of the service show: names of events, "obfuscation", a thought that is encrypted in two steps, phases.
const recordedItems = `event: response.created
data: {"type":"response.created","response":{"id":"resp_0a","object":"response","created_at":1760000000,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":128000,"model":"gpt-x-2026-01-01","output":[],"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":"k","reasoning":{"effort":"medium","summary":null},"service_tier":"default","store":false,"usage":null,"metadata":{}},"sequence_number":0}

event: response.in_progress
data: {"type":"response.in_progress","response":{"id":"resp_0a","object":"response","created_at":1760000000,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":128000,"model":"gpt-x-2026-01-01","output":[],"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":"k","reasoning":{"effort":"medium","summary":null},"service_tier":"default","store":false,"usage":null,"metadata":{}},"sequence_number":1}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_0a1","type":"reasoning","encrypted_content":"gAAAbegun","summary":[]},"sequence_number":2}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","item_id":"rs_0a1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""},"sequence_number":3}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_0a1","output_index":0,"summary_index":0,"delta":"Let me ","obfuscation":"x1","sequence_number":4}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_0a1","output_index":0,"summary_index":0,"delta":"\"see\"…","obfuscation":"x","sequence_number":5}

event: response.reasoning_summary_text.done
data: {"type":"response.reasoning_summary_text.done","item_id":"rs_0a1","output_index":0,"summary_index":0,"text":"Let me \"see\"…","sequence_number":6}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","item_id":"rs_0a1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""},"sequence_number":7}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_0a1","output_index":0,"summary_index":1,"delta":"Then read.","sequence_number":8}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_0a1","type":"reasoning","encrypted_content":"gAAAbegun_and-whole==","summary":[{"type":"summary_text","text":"Let me \"see\"…"},{"type":"summary_text","text":"Then read."}]},"sequence_number":9}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":1,"item":{"id":"msg_0a2","type":"message","status":"in_progress","content":[],"phase":"commentary","role":"assistant"},"sequence_number":10}

event: response.content_part.added
data: {"type":"response.content_part.added","item_id":"msg_0a2","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""},"sequence_number":11}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_0a2","output_index":1,"content_index":0,"delta":"Caf\u00e9 \ud83d\ude00\n","logprobs":[],"sequence_number":12}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_0a2","output_index":1,"content_index":0,"delta":"done.","logprobs":[],"sequence_number":13}

event: response.output_text.done
data: {"type":"response.output_text.done","item_id":"msg_0a2","output_index":1,"content_index":0,"text":"Café \ud83d\ude00\ndone.","logprobs":[],"sequence_number":14}

event: response.content_part.done
data: {"type":"response.content_part.done","item_id":"msg_0a2","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":"Café 😀\ndone."},"sequence_number":15}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":1,"item":{"id":"msg_0a2","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Café 😀\ndone."}],"phase":"commentary","role":"assistant"},"sequence_number":16}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":2,"item":{"id":"fc_0a3","type":"function_call","status":"in_progress","arguments":"","call_id":"call_MpCHoJbcGCbxDXSV","name":"Read"},"sequence_number":17}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc_0a3","output_index":2,"delta":"{\"file_path\": ","obfuscation":"h0","sequence_number":18}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":3,"item":{"id":"fc_0a4","type":"function_call","status":"in_progress","arguments":"","call_id":"call_0","name":"List"},"sequence_number":19}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc_0a3","output_index":2,"delta":"\"a.go\"}","sequence_number":20}

event: response.function_call_arguments.done
data: {"type":"response.function_call_arguments.done","item_id":"fc_0a3","output_index":2,"arguments":"{\"file_path\": \"a.go\"}","sequence_number":21}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":2,"item":{"id":"fc_0a3","type":"function_call","status":"completed","arguments":"{\"file_path\": \"a.go\"}","call_id":"call_MpCHoJbcGCbxDXSV","name":"Read"},"sequence_number":22}

event: response.function_call_arguments.done
data: {"type":"response.function_call_arguments.done","item_id":"fc_0a4","output_index":3,"arguments":"{}","sequence_number":23}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":3,"item":{"id":"fc_0a4","type":"function_call","status":"completed","arguments":"{}","call_id":"call_0","name":"List"},"sequence_number":24}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_0a","object":"response","created_at":1760000000,"status":"completed","background":false,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":128000,"model":"gpt-x-2026-01-01","output":[{"id":"rs_0a1","type":"reasoning","encrypted_content":"gAAAbegun_and-whole==","summary":[{"type":"summary_text","text":"Let me \"see\"…"},{"type":"summary_text","text":"Then read."}]},{"id":"msg_0a2","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Café 😀\ndone."}],"phase":"commentary","role":"assistant"},{"id":"fc_0a3","type":"function_call","status":"completed","arguments":"{\"file_path\": \"a.go\"}","call_id":"call_MpCHoJbcGCbxDXSV","name":"Read"},{"id":"fc_0a4","type":"function_call","status":"completed","arguments":"{}","call_id":"call_0","name":"List"}],"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":"k","reasoning":{"effort":"medium","summary":null},"service_tier":"default","store":false,"usage":{"input_tokens":2103,"input_tokens_details":{"cached_tokens":2000,"cache_write_tokens":100},"output_tokens":89,"output_tokens_details":{"reasoning_tokens":12},"total_tokens":2192},"metadata":{}},"sequence_number":25}

data: [DONE]

`
