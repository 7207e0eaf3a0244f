(class_definition name: (identifier) @name) @class
(object_definition name: (identifier) @name) @class
(trait_definition name: (identifier) @name) @trait
(enum_definition name: (identifier) @name) @enum
(function_definition name: [(identifier) (operator_identifier)] @name) @function
(function_declaration name: [(identifier) (operator_identifier)] @name) @function
(type_definition name: (type_identifier) @name) @type
(template_body (val_definition pattern: (identifier) @name) @constant)
(compilation_unit (val_definition pattern: (identifier) @name) @constant)
; references
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (identifier) @reference))
(call_expression function: (generic_function function: (identifier) @reference))
(field_expression value: (identifier) @reference)
(instance_expression (type_identifier) @reference)
(type_identifier) @reference
(import_declaration (identifier) @reference .)
(namespace_selectors (identifier) @reference)
