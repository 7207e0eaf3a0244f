(class_declaration name: (identifier) @name) @class
(class name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression left: (member_expression property: (property_identifier) @name) right: [(arrow_function) (function_expression)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name value: [(object) (array) (string) (template_string) (number) (call_expression) (new_expression) (identifier) (member_expression) (true) (false) (regex) (await_expression) (binary_expression)]) @constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: [(object) (array) (string) (template_string) (number) (call_expression) (new_expression) (identifier) (member_expression) (true) (false) (regex) (await_expression) (binary_expression)]) @constant)))
; references
(call_expression function: (identifier) @reference)
(call_expression function: (member_expression property: (property_identifier) @reference))
(new_expression constructor: (identifier) @reference)
(member_expression object: (identifier) @reference)
(arguments (identifier) @reference)
(class_heritage (identifier) @reference)
(import_specifier name: (identifier) @reference)
(import_clause (identifier) @reference)
(export_specifier name: (identifier) @reference)
(jsx_opening_element name: (identifier) @reference)
(jsx_self_closing_element name: (identifier) @reference)
