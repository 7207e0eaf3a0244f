(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(field_declaration (modifiers "static" "final") declarator: (variable_declarator name: (identifier) @name)) @constant
; references
(method_invocation name: (identifier) @reference)
(method_invocation object: (identifier) @reference)
(method_reference (identifier) @reference)
(type_identifier) @reference
(annotation name: (identifier) @reference)
(marker_annotation name: (identifier) @reference)
(import_declaration (scoped_identifier name: (identifier) @reference))
(field_access object: (identifier) @reference)
(field_access field: (identifier) @reference)
