(config_file (body (block (identifier) @keyword . (string_lit) . (string_lit (template_literal) @name) (#any-of? @keyword "resource" "data")) @resource))
(config_file (body (block (identifier) @keyword . (string_lit (template_literal) @name) . (block_start) (#any-of? @keyword "variable" "output" "module" "provider")) @variable))
(config_file (body (block (identifier) @keyword (body (attribute . (identifier) @name) @constant) (#eq? @keyword "locals"))))
; references
(get_attr (identifier) @reference)
(function_call (identifier) @reference)
