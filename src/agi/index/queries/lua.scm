(function_declaration name: (identifier) @name) @function
(function_declaration name: (dot_index_expression field: (identifier) @name)) @function
(function_declaration name: (method_index_expression method: (identifier) @name)) @function
(assignment_statement (variable_list name: (identifier) @name) (expression_list value: (function_definition))) @function
(assignment_statement (variable_list name: (dot_index_expression field: (identifier) @name)) (expression_list value: (function_definition))) @function
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name) (expression_list value: (table_constructor)))) @constant)
; references
(function_call name: (identifier) @reference)
(function_call name: (dot_index_expression field: (identifier) @reference))
(function_call name: (method_index_expression method: (identifier) @reference))
(dot_index_expression table: (identifier) @reference)
(method_index_expression table: (identifier) @reference)
