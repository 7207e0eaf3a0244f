(class_declaration name: (type_identifier) @name) @class
(class_declaration name: (user_type (type_identifier) @name)) @extension
(protocol_declaration name: (type_identifier) @name) @interface
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @function
(typealias_declaration name: (type_identifier) @name) @type
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @constant)
; references
(call_expression . (simple_identifier) @reference)
(call_expression . (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @reference)))
(navigation_expression target: (simple_identifier) @reference)
(user_type (type_identifier) @reference)
