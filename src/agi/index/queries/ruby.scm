(class name: [(constant) @name (scope_resolution name: (constant) @name)]) @class
(module name: [(constant) @name (scope_resolution name: (constant) @name)]) @module
(method name: [(identifier) (constant) (operator) (setter)] @name) @function
(singleton_method name: [(identifier) (constant)] @name) @function
(assignment left: (constant) @name) @constant
; references
(call method: [(identifier) (constant)] @reference)
(constant) @reference
(body_statement (identifier) @reference)
(program (identifier) @reference)
