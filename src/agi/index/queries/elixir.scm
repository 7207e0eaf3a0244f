(call target: (identifier) @keyword (arguments (alias) @name) (#any-of? @keyword "defmodule" "defprotocol")) @module
(call target: (identifier) @keyword (arguments [(identifier) @name (call target: (identifier) @name) (binary_operator left: (call target: (identifier) @name))]) (#any-of? @keyword "def" "defp" "defmacro" "defmacrop" "defguard" "defdelegate")) @function
; references
(call target: (identifier) @reference (#not-match? @reference "^(def[a-z]*|alias|import|use|require|do)$"))
(call target: (dot right: (identifier) @reference))
(alias) @reference
