"""One small source per language, with all it defines (kind, name, line, end, parent) and all the names it uses."""

from __future__ import annotations

from typing import NamedTuple


class Sample(NamedTuple):
    path: str
    source: str
    defines: str
    """One definition a line: kind, name, first line, last line, and what it stands in."""
    uses: str
    """Names, each with how often it is used if more than once."""


SAMPLES = [
    Sample(
        "shop/cart.py",
        """\
from shop.prices import price
import os.path as p
LIMIT = 3
class Cart(Base):
    @cached
    def add(self, item: Item) -> Money:
        return price(item.cost, helper)
async def run():
    try: Cart().add(1)
    except ShopError: pass
""",
        "constant LIMIT 3 3\nclass Cart 4 7\nmethod add 6 7 Cart\nfunction run 8 10",
        "Base Cart Item Money ShopError add cached helper item path price*2 prices",
    ),
    Sample(
        "cart.jsx",
        """\
import React, {useState} from "r";
export const LIMIT = 3;
class Cart extends Base {
  add(item) { return price(item); }
}
export function run() { new Cart().add(helper); return <Row a={1}/>; }
const go = async () => run();
module.exports.stop = function() {};
""",
        "constant LIMIT 2 2\nclass Cart 3 5\nmethod add 4 4 Cart\nfunction run 6 6\nfunction go 7 7\nfunction stop 8 8",
        "Base Cart React Row add helper item module price run useState",
    ),
    Sample(
        "cart.ts",
        """\
import {Item} from "./item";
export interface Priced { cost(): Money; }
type Id = string;
enum Color { Red }
export abstract class Cart extends Base implements Priced {
  add(item: Item): void { price(item); }
  abstract stop(): void;
}
export function run(): Id { return new Cart<Item>().add(x); }
namespace Inner { export const z = 1; }
""",
        "interface Priced 2 2\nmethod cost 2 2 Priced\ntype Id 3 3\nenum Color 4 4\nclass Cart 5 8\n"
        "method add 6 6 Cart\nmethod stop 7 7 Cart\nfunction run 9 9\nmodule Inner 10 10",
        "Base Cart Id Item*3 Money Priced add item price",
    ),
    Sample(
        "row.tsx",
        "export const Row = (p: Props) => <Cell p={p}/>;\nexport const cells = [Row];\n",
        "function Row 1 1\nconstant cells 2 2",
        "Cell Props",
    ),
    Sample(
        "cart.go",
        """\
package shop
import "fmt"
const Limit = 3
var (
    Names = make(map[string]int)
)
type Cart struct { items []Item }
type Pricer interface { Price() Money }
type Id int
func (c *Cart) Add(i Item) { c.items = append(c.items, i); prices.Lookup(i) }
func Run() { NewCart().Add(x) }
""",
        "constant Limit 3 3\nconstant Names 5 5\nstruct Cart 7 7\ninterface Pricer 8 8\ntype Id 9 9\nmethod Add 10 10\n"
        "function Run 11 11",
        "Add Cart Item*2 Lookup Money NewCart append int*2 items*2 make prices string",
    ),
    Sample(
        "cart.rs",
        """\
use crate::prices::{price, Money as M};
use std::fmt::Display;
const LIMIT: u32 = 3;
pub struct Cart { items: Vec<Item> }
pub enum Color { Red }
pub trait Priced { fn cost(&self) -> Money; }
impl Priced for Cart {
    fn cost(&self) -> Money { price(self) }
}
mod inner {
    pub fn f() { Cart::new().cost(); println!("x"); }
}
macro_rules! twice { () => {} }
""",
        "constant LIMIT 3 3\nstruct Cart 4 4\nenum Color 5 5\ntrait Priced 6 6\nmethod cost 6 6 Priced\nimpl Cart 7 9\n"
        "method cost 8 8 Cart\nmodule inner 10 12\nfunction f 11 11 inner\nmacro twice 13 13",
        "Cart Display Item Money*2 Priced Vec cost new price*2 println std",
    ),
    Sample(
        "Cart.java",
        """\
package shop;
import shop.prices.Price;
public class Cart extends Base implements Priced {
  public static final int LIMIT = 3;
  public Cart() {}
  @Override public Money add(Item item) { return Price.of(item).lookup(); }
  interface Inner {}
  enum Color { RED }
}
record Point(int x) {}
""",
        "class Cart 3 9\nconstant LIMIT 4 4 Cart\nmethod Cart 5 5 Cart\nmethod add 6 6 Cart\ninterface Inner 7 7 Cart\n"
        "enum Color 8 8 Cart\nclass Point 10 10",
        "Base Item Money Override Price*2 Priced lookup of",
    ),
    Sample(
        "cart.c",
        """\
#include "x.h"
#define LIMIT 3
struct cart { struct item *first; };
typedef struct cart cart_t;
enum color { RED };
static int price(item_t *i);
char *name_of(cart_t *c) { return lookup(c->first, helper); }
int add(cart_t *c) {
    return price(0);
}
""",
        "macro LIMIT 2 2\nstruct cart 3 3\ntype cart_t 4 4\nenum color 5 5\nfunction price 6 6\nfunction name_of 7 7\n"
        "function add 8 10",
        "cart cart_t*2 helper item item_t lookup price",
    ),
    Sample(
        "cart.cpp",
        """\
namespace shop {
class Cart : public Base {
 public:
  void add(Item i);
  int size() const { return count(); }
};
template <typename T> struct Box { T v; };
void Cart::add(Item i) { prices::lookup(i); box.put(i); make<Item>(); }
using Id = int;
Item &first(Cart &c) { return c.at(0); }
}
""",
        "module shop 1 11\nclass Cart 2 6 shop\nmethod add 4 4 Cart\nmethod size 5 5 Cart\nstruct Box 7 7 shop\n"
        "function add 8 8 shop\ntype Id 9 9 shop\nfunction first 10 10 shop",
        "Base Cart*2 Item*4 at count lookup make prices put",
    ),
    Sample(
        "cart.rb",
        """\
require "x"
module Shop
  LIMIT = 3
  class Cart < Base
    include Priced
    def add(item)
      Price.of(item)
      helper
    end
    def self.build; new; end
  end
end
""",
        "module Shop 2 12\nconstant LIMIT 3 3 Shop\nclass Cart 4 11 Shop\nmethod add 6 9 Cart\nmethod build 10 10 Cart",
        "Base Price Priced helper include new of require",
    ),
    Sample(
        "Cart.php",
        """\
<?php
namespace Shop;
use Shop\\Prices\\Price;
interface Priced {}
trait Named {}
enum Color { case Red; }
const LIMIT = 3;
class Cart extends Base implements Priced {
  use Named;
  public function add(Item $i): Money { return Price::of($i)->lookup(helper($i), new Money()); }
}
function run() {}
""",
        "interface Priced 4 4\ntrait Named 5 5\nenum Color 6 6\nconstant LIMIT 7 7\nclass Cart 8 11\n"
        "method add 10 10 Cart\nfunction run 12 12",
        "Base Item Money*2 Named Price*2 Priced helper lookup of",
    ),
    Sample(
        "Cart.cs",
        """\
using System;
namespace Shop {
public interface IPriced { Money Cost(); }
public class Cart : Base, IPriced {
  public int Count { get; set; }
  public Cart() {}
  [Test] public Money Add(Item i, List<Item> l) { var x = new Money(); Helper(i); return Price.Of<Item>(i); }
}
public enum Color { Red }
public struct P {}
public record R(int x);
public delegate void D();
}
""",
        "module Shop 2 13\ninterface IPriced 3 3 Shop\nmethod Cost 3 3 IPriced\nclass Cart 4 8 Shop\n"
        "property Count 5 5 Cart\nmethod Cart 6 6 Cart\nmethod Add 7 7 Cart\nenum Color 9 9 Shop\nstruct P 10 10 Shop\n"
        "class R 11 11 Shop\ntype D 12 12 Shop",
        "Base Helper IPriced Item*3 List Money*3 Of Price Test",
    ),
    Sample(
        "Cart.kt",
        """\
package shop
import shop.prices.price
const val LIMIT = 3
interface Priced {
    fun cost(): Money
}
class Cart(val x: Item) : Base(), Priced {
    override fun cost(): Money = price(x).lookup()
}
object Single {
    fun run() { Cart(y).cost() }
}
typealias Id = String
""",
        "constant LIMIT 3 3\nclass Priced 4 6\nmethod cost 5 5 Priced\nclass Cart 7 9\nmethod cost 8 8 Cart\n"
        "class Single 10 12\nmethod run 11 11 Single\ntype Id 13 13",
        "Base Cart Item Money*2 Priced String cost lookup price*2",
    ),
    Sample(
        "Cart.scala",
        """\
package shop
import shop.prices.price
import shop.x.{Money, Item}
trait Priced { def cost: Money }
class Cart(x: Item) extends Base with Priced {
  val limit = 3
  def cost: Money = price(x).lookup(y)
}
object Single {
  def run() = { new Cart(y).cost; Helper.go[Int](1) }
}
""",
        "trait Priced 4 4\nmethod cost 4 4 Priced\nclass Cart 5 8\nconstant limit 6 6 Cart\nmethod cost 7 7 Cart\n"
        "class Single 9 11\nmethod run 10 10 Single",
        "Base Cart Helper Int Item*2 Money*3 Priced lookup price*2",
    ),
    Sample(
        "cart.lua",
        """\
local M = {}
local function helper(x) return price(x) end
function M.add(item) return helper(item) end
function M:size() return self.count:get() end
M.stop = function() string.format("x") end
return M
""",
        "constant M 1 1\nfunction helper 2 2\nfunction add 3 3\nfunction size 4 4\nfunction stop 5 5",
        "format get helper price self string",
    ),
    Sample(
        "Cart.swift",
        """\
import Foundation
let limit = 3
protocol Priced { func cost() -> Money }
class Cart: Base, Priced {
    func cost() -> Money { return price(item).lookup() }
}
extension Cart { func more() { Helper.go() } }
enum Color { case red }
typealias Id = String
""",
        "constant limit 2 2\ninterface Priced 3 3\nmethod cost 3 3 Priced\nclass Cart 4 6\nmethod cost 5 5 Cart\n"
        "extension Cart 7 7\nmethod more 7 7 Cart\nclass Color 8 8\ntype Id 9 9",
        "Base Helper Money*2 Priced String go lookup price",
    ),
    Sample(
        "cart.ex",
        """\
defmodule Shop.Cart do
  alias Shop.Price
  def add(item, x) when x > 1 do
    Price.of(item) |> helper()
  end
  defp stop, do: run(1)
end
""",
        "module Shop.Cart 1 7\nfunction add 3 5 Shop.Cart\nfunction stop 6 6 Shop.Cart",
        "Price Shop.Price helper of run",
    ),
    Sample(
        "main.tf",
        """\
variable "region" { default = "x" }
resource "aws_instance" "web" {
  ami = data.aws_ami.ubuntu.id
  name = lower(var.region)
}
data "aws_ami" "ubuntu" {}
locals {
  tag = local.other
}
module "net" { source = "./net" }
""",
        "variable region 1 1\nresource web 2 5\nresource ubuntu 6 6\nconstant tag 8 8\nvariable net 10 10",
        "aws_ami id lower other region ubuntu",
    ),
    Sample(
        "cart.zig",
        """\
const std = @import("std");
pub const Cart = struct {
    items: u32,
    pub fn add(self: *Cart, i: Item) void { price(i); self.helper.go(); }
};
fn run() void { Cart.add(x); }
test "works" { run(); }
""",
        "constant std 1 1\nconstant Cart 2 5\nfunction add 4 4 Cart\nfunction run 6 6\ntest works 7 7",
        "Cart add go helper price run self",
    ),
    Sample(
        "cart.sh",
        """\
#!/bin/sh
LIMIT=3
export NAME=x
add() {
  price "$LIMIT"
}
function stop { add "${NAME}"; }
""",
        "constant LIMIT 2 2\nconstant NAME 3 3\nfunction add 4 6\nfunction stop 7 7",
        "LIMIT NAME add price",
    ),
]
