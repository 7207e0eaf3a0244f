(class_declaration name: (type_identifier) @name) @class
(class name: (type_identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression left: (member_expression property: (property_identifier) @name) right: [(arrow_function) (function_expression)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name value: [(object) (array) (string) (template_string) (number) (call_expression) (new_expression) (identifier) (member_expression) (true) (false) (regex) (await_expression) (binary_expression)]) @constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: [(object) (array) (string) (template_string) (number) (call_expression) (new_expression) (identifier) (member_expression) (true) (false) (regex) (await_expression) (binary_expression)]) @constant)))
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @enum
(internal_module name: (identifier) @name) @module
(function_signature name: (identifier) @name) @function
(abstract_method_signature name: (property_identifier) @name) @function
(method_signature name: (property_identifier) @name) @function
; references
(type_identifier) @reference
(call_expression function: (identifier) @reference)
(call_expression function: (member_expression property: (property_identifier) @reference))
(new_expression constructor: (identifier) @reference)
(member_expression object: (identifier) @reference)
(arguments (identifier) @reference)
(extends_clause value: (identifier) @reference)
(import_specifier name: (identifier) @reference)
(import_clause (identifier) @reference)
(export_specifier name: (identifier) @reference)
(jsx_opening_element name: (identifier) @reference)
(jsx_self_closing_element name: (identifier) @reference)
