(class_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(type_alias type: (identifier) @name) @type
(source_file (property_declaration (variable_declaration (identifier) @name)) @constant)
; references
(call_expression . (identifier) @reference)
(call_expression . (navigation_expression (identifier) @reference .))
(navigation_expression . (identifier) @reference)
(user_type (identifier) @reference)
(import (qualified_identifier (identifier) @reference .))
