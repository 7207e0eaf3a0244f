(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(impl_item type: (type_identifier) @name) @impl
(impl_item type: (generic_type type: (type_identifier) @name)) @impl
(mod_item name: (identifier) @name) @module
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @constant
(macro_definition name: (identifier) @name) @macro
; references
(call_expression function: (identifier) @reference)
(call_expression function: (scoped_identifier name: (identifier) @reference))
(call_expression function: (field_expression field: (field_identifier) @reference))
(call_expression function: (generic_function function: (identifier) @reference))
(macro_invocation macro: (identifier) @reference)
(scoped_identifier path: (identifier) @reference)
(use_declaration argument: (scoped_identifier name: (identifier) @reference))
(use_list (identifier) @reference)
(use_list (scoped_identifier name: (identifier) @reference))
(use_as_clause path: (scoped_identifier name: (identifier) @reference))
(arguments (identifier) @reference)
(type_identifier) @reference
