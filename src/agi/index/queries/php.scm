(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @trait
(enum_declaration name: (name) @name) @enum
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
(const_element (name) @name) @constant
; references
(function_call_expression function: [(name) @reference (qualified_name (name) @reference)])
(member_call_expression name: (name) @reference)
(scoped_call_expression scope: (name) @reference)
(scoped_call_expression name: (name) @reference)
(class_constant_access_expression . (name) @reference)
(object_creation_expression [(name) @reference (qualified_name (name) @reference)])
(named_type [(name) @reference (qualified_name (name) @reference)])
(base_clause (name) @reference)
(class_interface_clause (name) @reference)
(use_declaration (name) @reference)
(namespace_use_clause [(name) @reference (qualified_name (name) @reference)])
(attribute (name) @reference)
