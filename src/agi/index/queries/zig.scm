(function_declaration name: (identifier) @name) @function
(source_file (variable_declaration (identifier) @name) @constant)
(struct_declaration (variable_declaration (identifier) @name) @constant)
(test_declaration (string (string_content) @name)) @test
; references
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression member: (identifier) @reference))
(field_expression object: (identifier) @reference)
(field_expression member: (identifier) @reference)
