"""Loops that lift rows and columns in registers, generated from ladders: each sample is loaded once.

A *tick* takes the next pair of rows of a strip. Both are lifted along the row, then down the columns, and what is ready
is stored. In whole numbers, forward, the columns come first: rounding makes the order matter, and that is the one of
JPEG 2000. Numbers that steps along the row still need are in registers, those that steps down the columns need for the
next pair of rows are in the rows of a state, in the cache. Along a row, a vector has neighbouring pairs in its lanes:
what is one pair older is found one lane before.

A step waits for the one before it. So that a processor always finds something else to do, steps are put into stages,
each of which works on the vector that was at the stage before in the last round; the columns are the last stage.

A name of this module, such as ``forward__1s110_0s121_0111__1s110_0s121_0111``, is the tick of a direction, of a ladder
down the columns and of one along the rows. One of the two may be left out.
"""

from __future__ import annotations

from llvmlite import binding, ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

from subband.compiled.compiling import pointed
from subband.engines.cpu.ladders import STEPS, read_ladder
from subband.engines.cpu.loops import OPTIONS
from subband.engines.cpu.program import NUMBERS, WEIGHTS

__all__ = ["call_tick"]

_WORD = ir.IntType(64)
_BYTE = ir.IntType(8)


def __getattr__(name):
    if name.startswith("_") or name.count("__") != 2:
        raise AttributeError(name)
    return _make_tick(name)


def _make_tick(name):
    def tick(a, b, c, d, y, z, lines, span, inner, outer, state, down, along, factors, n):
        _climb(name, a, b, c, d, y, z, lines, span, inner, outer, state, down, along, factors, n)

    return pointed(**OPTIONS)(tick)


@intrinsic
def call_tick(typingctx, tick, a, b, c, d, y, z, lines, span, inner, outer, state, down, along, factors, n):
    """Call a tick by its address.

    Parameters
    ----------
    a, b, c, d : pointer
        Where the next numbers of the four bands are. Columns by themselves have the bands `a` and `c`, rows by
        themselves `a` and `b`.
    y, z : pointer
        The same of the even and the odd row of samples.
    lines : pointer
        What is read instead of each of those that are not written to, in their order, where the image ends: there it
        goes on, and may be read a few vectors further, whatever there is.
    span : int
        How far these lines lie apart.
    inner, outer : int
        From which number on, and up to which, vectors are read from where `a` … `z` are: whole vectors of every kind.
    state : pointer
        Rows that are kept from tick to tick, those of each vector of columns side by side.
    down, along : pointer
        The tables of numbers of the two programs.
    factors : pointer
        What the bands are multiplied by: four numbers.
    n : int
        Pairs of columns, or columns if they are by themselves.
    """

    def codegen(context, builder, signature, args):
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in args[1:]])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
        return context.get_dummy_value()

    arguments = (a, b, c, d, y, z, lines, span, inner, outer, state, down, along, factors, n)
    return types.none(tick, *arguments), codegen


@intrinsic(prefer_literal=True)
def _climb(typingctx, name, a, b, c, d, y, z, lines, span, inner, outer, state, down, along, factors, n):
    """Write the loop of a name where it stands."""

    def codegen(context, builder, signature, args):
        direction, down, along = (part and (read_ladder(part) if k else part) for k, part in enumerate(parts))
        number = context.get_value_type(signature.args[1].dtype)
        climber = _Inverse if direction == "inverse" else _Forward
        climber(builder, number, context.get_abi_sizeof(number), args[1:], down, along).write()
        return context.get_dummy_value()

    parts = name.literal_value.split("__")
    arguments = (a, b, c, d, y, z, lines, span, inner, outer, state, down, along, factors, n)
    return types.none(name, *arguments), codegen


def _count_bytes():
    """Return how many bytes a vector has on the processor that is compiled for."""
    if config.CPU_NAME is None:
        features = binding.get_host_cpu_features()
        return 64 if features.get("avx512vl") else 32 if features.get("avx2") else 16
    return {"x86-64-v4": 64, "x86-64-v3": 32}.get(config.CPU_NAME, 16)


class _Version:
    """A member between two steps: its vector, the stage that made it, and how old its pairs are."""

    def __init__(self, vector, stage, age):
        self.vector, self.stage, self.age = vector, stage, age
        self.past = [vector]  # the same in this round, and in those before
        self.shifted = {}  # the same of older pairs, by how many rounds and pairs these are before
        self.rows = []  # of the state: the same of the pair of rows before, and before that


class _Climber:
    """Writes the loop of a tick; a subclass knows where rows come from, and go to."""

    def __init__(self, builder, number, size, args, down, along):
        for argument in builder.function.args:
            if isinstance(argument.type, ir.PointerType):
                argument.add_attribute("noalias")
        names = "a b c d y z lines span inner outer state down along factors n"
        self.builder = builder
        self.args = dict(zip(names.split(), args, strict=True))
        self.down, self.along = down, along
        self.number, self.size = number, size
        self.lanes = _count_bytes() // size
        self.kind = ir.VectorType(number, self.lanes)
        self.stages = along.stages if along else 0
        self.is_rounded = (down or along).is_rounded
        # the order of the inverse is that in which the loop is written anyway
        self.is_down_first = self.is_rounded and bool(down and along) and isinstance(self, _Forward)
        self.delays = []  # vectors that the next round takes from this one
        self.carried = []  # the same, where the next round is the first of a segment
        self.slots = 0  # rows of the state in use

    # --- The loop. ---

    def write(self):
        """Write it."""
        builder = self.builder
        if not self.is_rounded:
            self.weights = self._load_weights("down", self.down) | self._load_weights("along", self.along)
            self.factors = [self._broadcast(self._load_number("factors", k)) for k in range(4)]
        goals, names = self.list_goals(), self.list_sources()
        width = self.find_width()
        with builder.goto_entry_block():
            spare = {goal: builder.alloca(self.number, width) for goal in goals}
            for room in spare.values():
                # whole vectors, and with them all that finds no register: otherwise it is where the caller's stack
                # happens to end whether weights lie across two lines of the cache
                room.align = self.kind_bytes
        args, n, lanes = self.args, self.args["n"], _WORD(self.lanes)
        scale = _WORD(width // self.lanes)
        lines = {name: self._shift(args["lines"], builder.mul(args["span"], _WORD(k))) for k, name in enumerate(names)}
        whole, rest = builder.sdiv(n, lanes), builder.srem(n, lanes)
        has_rest = builder.icmp_signed(">", rest, _WORD(0))
        rounds = builder.add(whole, builder.zext(has_rest, _WORD))
        done = builder.mul(builder.mul(whole, lanes), scale)
        # whole vectors, but where nothing can be read as it is
        inner, outer = (builder.sub(builder.sdiv(args[name], lanes), _WORD(self.stages)) for name in ("inner", "outer"))
        extent = builder.sub(outer, inner)
        self.before = builder.block
        blocks = ("segment", "choose", "head", "body", "store", "tail", "following", "end")
        self.segment, choose, self.head, body, store, tail, self.following, end = map(
            builder.append_basic_block, blocks
        )
        builder.branch(self.segment)
        # in a segment, all rounds read and write by the same addresses: to choose them each time took as long as a step
        builder.position_at_end(self.segment)
        first = builder.phi(_WORD)
        # the first rounds fill the stages, from as many vectors before the first on as steps look back; from one at
        # least, without which LLVM fuses products and sums of the last round in another way
        before = max(1, -(-self.along.find_reach(self.list_ages()) // self.lanes)) if self.along else 0
        first.add_incoming(_WORD(-self.stages - before), self.before)
        builder.position_at_end(choose)
        # one comparison, for what is less than the first is a large number without a sign
        is_inside = builder.icmp_unsigned("<", builder.sub(first, inner), extent)
        self.sources = {name: builder.select(is_inside, args[name], lines[name]) for name in names}
        # the last vector may be wanted in part
        is_rest = builder.icmp_signed(">=", first, whole)
        behind = builder.neg(done)
        targets = {goal: builder.select(is_rest, self._shift(spare[goal], behind), args[goal]) for goal in goals}
        last = rounds
        for edge in (whole, inner, outer):
            is_next = builder.and_(builder.icmp_signed("<", first, edge), builder.icmp_signed("<", edge, last))
            last = builder.select(is_next, edge, last)
        builder.branch(self.head)
        builder.position_at_end(self.head)
        turn = builder.phi(_WORD)
        turn.add_incoming(first, choose)
        self.choose = choose
        builder.position_at_end(body)
        column = builder.mul(turn, lanes)
        ahead = builder.add(column, _WORD(self.lanes * self.stages))
        rows = [self.load_row(row, ahead) for row in range(2 if self.down else 1)]
        if self.is_down_first:
            columns = [self._climb_column(*members, ahead) for members in zip(*rows, strict=True)]
            rows = zip(*columns, strict=True)
        rows = [self._climb_row(*row) for row in rows]
        builder.cbranch(builder.icmp_signed(">=", turn, _WORD(0)), store, tail)
        builder.position_at_end(store)
        if self.down and not self.is_down_first:
            columns = [self._climb_column(*members, column) for members in zip(*rows, strict=True)]
            rows = zip(*columns, strict=True)
        at = builder.mul(column, scale)
        for goal, vector in zip(goals, self.arrange(rows), strict=True):
            self._store(vector, targets[goal], at)
        builder.branch(tail)
        builder.position_at_end(tail)
        following = builder.add(turn, _WORD(1))
        for phi, vector in [(turn, following), *self.delays]:
            phi.add_incoming(vector, tail)
        builder.cbranch(builder.icmp_signed("<", following, last), self.head, self.following)
        builder.position_at_end(self.head)
        builder.branch(body)
        builder.position_at_end(self.following)
        first.add_incoming(following, self.following)
        for phi, vector in self.carried:
            phi.add_incoming(vector, self.following)
        builder.cbranch(builder.icmp_signed("<", following, rounds), self.segment, end)
        builder.position_at_end(self.segment)
        builder.branch(choose)
        builder.position_at_end(end)
        with builder.if_then(has_rest):
            size = builder.mul(builder.mul(rest, scale), _WORD(self.size))
            for goal in goals:
                self._copy(self._shift(args[goal], done), spare[goal], size)

    # --- The steps. ---

    def _climb_row(self, *members):
        """Return both outputs of the steps along a row, at the last stage; or the row itself."""
        if not self.along:
            return members
        versions = [_Version(vector, 0, age) for vector, age in zip(members, self.list_ages(), strict=True)]
        for k, rung in enumerate(self.along.rungs):
            stage = k // STEPS
            target, source = versions[rung.target], versions[1 - rung.target]
            terms = [self._find_older(source, age, stage) for age in rung.sources]
            vector = self._step("along", k, rung, self._find_older(target, rung.age, stage), terms)
            versions[rung.target] = _Version(vector, stage, rung.age)
        return [self._find_older(versions[member], age, self.stages) for member, age in self.along.outputs]

    def _find_older(self, version, age, stage):
        """Return a version as a later stage finds it, of pairs that are older."""
        older, rounds = age - version.age, stage - version.stage
        while len(version.past) <= rounds + (older > 0):
            with self.builder.goto_block(self.segment):
                carried = self.builder.phi(self.kind)
            with self.builder.goto_block(self.head):
                phi = self.builder.phi(self.kind)
            carried.add_incoming(ir.Constant(self.kind, None), self.before)
            phi.add_incoming(carried, self.choose)
            self.carried.append((carried, version.past[-1]))
            self.delays.append((phi, version.past[-1]))
            version.past.append(phi)
        if not older:
            return version.past[rounds]
        if (rounds, older) not in version.shifted:
            version.shifted[rounds, older] = self._shift_in(version.past[rounds + 1], version.past[rounds], older)
        return version.shifted[rounds, older]

    def _climb_column(self, even, odd, column):
        """Return both outputs of the steps down the columns, and keep what the next pair of rows needs."""
        versions = [_Version(vector, 0, age) for vector, age in zip((even, odd), self.down.arrivals, strict=True)]
        made = list(versions)
        for k, rung in enumerate(self.down.rungs):
            target, source = versions[rung.target], versions[1 - rung.target]
            terms = [self._find_above(source, age, column) for age in rung.sources]
            vector = self._step("down", k, rung, self._find_above(target, rung.age, column), terms)
            versions[rung.target] = _Version(vector, 0, rung.age)
            made.append(versions[rung.target])
        outputs = [self._find_above(versions[member], age, column) for member, age in self.down.outputs]
        for version in made:
            vector = version.vector
            for address, above in version.rows:
                self._store(vector, address, self._find_state(column), self.kind_bytes)
                vector = above
        return outputs

    def _find_state(self, column):
        """Return where the state of a vector of columns begins."""
        return self.builder.mul(column, _WORD(self.down.kept * (2 if self.along else 1)))

    def _find_above(self, version, age, column):
        """Return a version of rows that are older."""
        while len(version.rows) < age - version.age:
            # all rows of a vector lie side by side: one address for them all
            address = self._shift(self.args["state"], _WORD(self.slots * self.lanes))
            version.rows.append((address, self._load(address, self._find_state(column), self.kind_bytes)))
            self.slots += 1
        return [version.vector, *(row for _, row in version.rows)][age - version.age]

    def _step(self, table, k, rung, target, terms):
        if rung.rounding:
            return self._round_step(rung, target, terms)
        weights = [self.weights[table, k, j] for j in range(len(terms))]
        if rung.is_symmetric:
            weights, terms = weights[:1], [self._add(*terms)]
        for weight, term in zip(weights, terms, strict=True):
            target = self._add(target, self._multiply(weight, term))
        return target

    def _round_step(self, rung, target, terms):
        """Write a step in whole numbers, with the same weight for all sources, which is 1 or -1."""
        weight, offset, bits, sign = rung.rounding
        builder, total = self.builder, terms[0]
        for term in terms[1:]:
            total = builder.add(total, term)
        offset = self._fill(offset)
        total = builder.add(total, offset) if weight > 0 else builder.sub(offset, total)
        total = builder.ashr(total, self._fill(bits))
        return builder.add(target, total) if sign > 0 else builder.sub(target, total)

    # --- Words of LLVM. ---

    def _fill(self, number):
        return ir.Constant(self.kind, [number] * self.lanes)

    @property
    def kind_bytes(self):
        """The bytes of a vector, whole ones of which the rows of the state are."""
        return self.lanes * self.size

    def _load_weights(self, table, ladder):
        rungs = ladder.rungs if ladder else ()
        return {
            (table, k, j): self._broadcast(self._load_number(table, NUMBERS + WEIGHTS * k + j))
            for k, rung in enumerate(rungs)
            for j in range(len(rung.sources))
        }

    def _load_number(self, name, index):
        return self.builder.load(self._shift(self.args[name], _WORD(index)), typ=self.number)

    def _broadcast(self, number):
        undefined = ir.Constant(self.kind, ir.Undefined)
        vector = self.builder.insert_element(undefined, number, ir.IntType(32)(0))
        return self._shuffle(vector, undefined, [0] * self.lanes)

    def _shift(self, address, offset):
        return self.builder.gep(address, [offset], source_etype=self.number)

    def _load(self, address, offset, align=None):
        address = self.builder.bitcast(self._shift(address, offset), self.kind.as_pointer())
        return self.builder.load(address, align=align or self.size, typ=self.kind)

    def _store(self, vector, address, offset, align=None):
        address = self.builder.bitcast(self._shift(address, offset), vector.type.as_pointer())
        self.builder.store(vector, address, align=align or self.size)

    def _copy(self, goal, source, size):
        byte = _BYTE.as_pointer()
        copy = self.builder.module.declare_intrinsic("llvm.memcpy", [byte, byte, _WORD])
        arguments = [self.builder.bitcast(goal, byte), self.builder.bitcast(source, byte), size, ir.IntType(1)(0)]
        self.builder.call(copy, arguments)

    def _shuffle(self, first, second, lanes):
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
        return self.builder.shuffle_vector(first, second, mask)

    def _shift_in(self, before, vector, count):
        """Return a vector whose first lanes are the last ones of the one before it."""
        if self.kind_bytes == 64:
            # LLVM would permute, which takes the units that multiply
            word = f"valign{'d' if self.size == 4 else 'q'} $${self.lanes - count}, $1, $2, $0"
            kind = ir.FunctionType(self.kind, [self.kind, self.kind])
            return self.builder.asm(kind, word, "=v,v,v", [before, vector], side_effect=False)
        return self._shuffle(before, vector, range(self.lanes - count, 2 * self.lanes - count))

    # Numba marks both as OPTIONS say: a product may become part of the sum

    def _add(self, first, second):
        return self.builder.fadd(first, second)

    def _multiply(self, first, second):
        return self.builder.fmul(first, second)


class _Forward(_Climber):
    """From rows of samples to bands, which are scaled when they are stored."""

    def list_goals(self):
        """Return what is written to."""
        return [goal for goal, is_there in zip("abcd", self._list_bands(), strict=True) if is_there]

    def _list_bands(self):
        return True, self.along, self.down, self.along and self.down

    def list_sources(self):
        """Return what is read from, and has a line."""
        return "yz"

    def find_width(self):
        """Return how many numbers a round writes to each."""
        return self.lanes

    def list_ages(self):
        """Return how old even and odd members are when they are loaded."""
        return self.along.neighbours

    def load_row(self, row, column):
        """Return even and odd samples of a row, or the samples."""
        source = self.sources["yz"[row]]
        if not self.along:
            return (self._load(source, column),)
        even, odd = self.list_ages()
        first = self.builder.sub(self.builder.mul(column, _WORD(2)), _WORD(even + odd))
        halves = [self._load(source, first), self._load(source, self.builder.add(first, _WORD(self.lanes)))]
        members = [self._shuffle(*halves, range(k, 2 * self.lanes, 2)) for k in (0, 1)]
        # an odd member that is one pair older stands before the even one
        return members if even == odd else members[::-1]

    def arrange(self, rows):
        """Return what is stored, in the order of the goals."""
        if self.is_rounded:
            return [vector for row in rows for vector in row]
        factors = [factor for factor, is_there in zip(self.factors, self._list_bands(), strict=True) if is_there]
        vectors = [vector for row in rows for vector in row]
        return [self._multiply(factor, vector) for factor, vector in zip(factors, vectors, strict=True)]


class _Inverse(_Climber):
    """From bands, which are scaled when they are loaded, to rows of samples."""

    def list_goals(self):
        """Return what is written to."""
        return ["y", "z"] if self.down else ["y"]

    def list_sources(self):
        """Return what is read from, and has a line."""
        return "abcd"

    def find_width(self):
        """Return how many numbers a round writes to each."""
        return self.lanes * (2 if self.along else 1)

    def list_ages(self):
        """Return how old even and odd members are when they are loaded."""
        return self.along.arrivals

    def load_row(self, row, column):
        """Return low and high coefficients of a row, or the coefficients."""
        members = []
        for k, age in enumerate(self.list_ages() if self.along else (0,)):
            vector = self._load(self.sources["abcd"[2 * row + k]], self.builder.sub(column, _WORD(age)))
            members.append(vector if self.is_rounded else self._multiply(self.factors[2 * row + k], vector))
        return members

    def arrange(self, rows):
        """Return what is stored, in the order of the goals."""
        if not self.along:
            return [vector for (vector,) in rows]
        lanes = [k // 2 + k % 2 * self.lanes for k in range(2 * self.lanes)]
        return [self._shuffle(*row, lanes) for row in rows]
