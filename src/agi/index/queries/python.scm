(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name) @constant))
(type_alias_statement left: (type (identifier) @name)) @type
; references
(call function: (identifier) @reference)
(call function: (attribute attribute: (identifier) @reference))
(attribute object: (identifier) @reference)
(argument_list (identifier) @reference)
(decorator (identifier) @reference)
(decorator (attribute attribute: (identifier) @reference))
(type (identifier) @reference)
(type (generic_type (identifier) @reference))
(type (attribute attribute: (identifier) @reference))
(type (binary_operator (identifier) @reference))
(except_clause (identifier) @reference)
(keyword_argument value: (identifier) @reference)
(import_statement name: (dotted_name (identifier) @reference .))
(import_from_statement name: (dotted_name (identifier) @reference .))
(import_from_statement module_name: (dotted_name (identifier) @reference .))
(aliased_import name: (dotted_name (identifier) @reference .))
