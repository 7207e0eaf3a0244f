(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @struct
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(delegate_declaration name: (identifier) @name) @type
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(local_function_statement name: (identifier) @name) @function
(property_declaration name: (identifier) @name) @property
(namespace_declaration name: (identifier) @name) @module
; references
(invocation_expression function: (identifier) @reference)
(invocation_expression function: (generic_name (identifier) @reference))
(invocation_expression function: (member_access_expression name: (identifier) @reference))
(invocation_expression function: (member_access_expression name: (generic_name (identifier) @reference)))
(member_access_expression expression: (identifier) @reference)
(member_access_expression name: (identifier) @reference)
(object_creation_expression type: (identifier) @reference)
(object_creation_expression type: (generic_name (identifier) @reference))
(base_list (identifier) @reference)
(base_list (generic_name (identifier) @reference))
(type_argument_list (identifier) @reference)
(parameter type: (identifier) @reference)
(parameter type: (generic_name (identifier) @reference))
(variable_declaration type: (identifier) @reference)
(variable_declaration type: (generic_name (identifier) @reference))
(method_declaration returns: (identifier) @reference)
(method_declaration returns: (generic_name (identifier) @reference))
(property_declaration type: (identifier) @reference)
(attribute name: (identifier) @reference)
