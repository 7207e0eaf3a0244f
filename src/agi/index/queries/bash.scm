(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @constant)
(program (declaration_command (variable_assignment name: (variable_name) @name) @constant))
; references
(command name: (command_name (word) @reference))
(simple_expansion (variable_name) @reference)
(expansion (variable_name) @reference)
