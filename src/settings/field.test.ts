import { expectTypeOf, test } from 'vitest'
import type { Cidr } from '../lib/ip.ts'
import type { FieldPath, FieldsOf, PathsUnder, ValueAt } from './field.ts'
import type { CommandValues } from './flags.ts'
import type { SocketAddress } from './network-types.ts'
import type { SERVER_FLAGS, ServerConfiguration } from './testing/server.ts'

type Fields = FieldsOf<ServerConfiguration>

test('every leaf has a path, at any depth; a list and an address are leaves', () => {
  expectTypeOf<FieldPath<ServerConfiguration>>().toEqualTypeOf<
    'role' | 'listen.address' | 'listen.timeout' | 'listen.tls.required' | 'clients'
  >()
  expectTypeOf<
    PathsUnder<ServerConfiguration, 'listen.tls'>
  >().toEqualTypeOf<'listen.tls.required'>()
})

test('a path has the type of its value', () => {
  expectTypeOf<ValueAt<ServerConfiguration, 'role'>>().toEqualTypeOf<'main' | 'spare'>()
  expectTypeOf<ValueAt<ServerConfiguration, 'listen.address'>>().toEqualTypeOf<
    SocketAddress | undefined
  >()
  expectTypeOf<ValueAt<ServerConfiguration, 'listen.tls.required'>>().toEqualTypeOf<boolean>()
  expectTypeOf<ValueAt<ServerConfiguration, 'clients'>>().toEqualTypeOf<readonly Cidr[]>()
  expectTypeOf<ValueAt<ServerConfiguration, 'listen.nothing'>>().toEqualTypeOf<never>()
})

test('a table that lacks a field, or has one of another type, does not compile', () => {
  expectTypeOf<Fields>().toExtend<FieldsOf<ServerConfiguration>>()
  expectTypeOf<Omit<Fields, 'listen.tls.required'>>().not.toExtend<Fields>()
  expectTypeOf<Omit<Fields, 'role'> & { role: Fields['listen.timeout'] }>().not.toExtend<Fields>()
})

test('flags with a value are text, those without are switches', () => {
  expectTypeOf<CommandValues<typeof SERVER_FLAGS>>().toEqualTypeOf<{
    readonly config: string | undefined
    readonly version: boolean
  }>()
})
