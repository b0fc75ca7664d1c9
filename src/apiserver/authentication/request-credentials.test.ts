import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { StatusError } from '../status/status.ts'
import { credentialsOf } from './request-identity.ts'

const NOW = Date.now()

function sent(socket: Socket, authorization?: string) {
  const request = new IncomingMessage(socket)
  request.headers = { ...(authorization !== undefined && { authorization }) }
  return credentialsOf(request, NOW)
}

test('a connection that sends its token again has the same credentials, and no other connection has them', () => {
  const [one, other] = [new Socket(), new Socket()]
  const first = sent(one, 'Bearer abc')
  expect(first).toEqual({ bearerToken: 'abc' })
  expect(sent(one, 'Bearer abc')).toBe(first)
  expect(sent(other, 'Bearer abc')).not.toBe(first)
})

test('each request of a connection proves what it says itself', () => {
  const socket = new Socket()
  expect(sent(socket, 'Bearer abc')).toEqual({ bearerToken: 'abc' })
  expect(sent(socket, 'bearer  def')).toEqual({ bearerToken: 'def' })
  expect(sent(socket)).toEqual({})
  expect(sent(socket, 'Basic abc')).toBeInstanceOf(StatusError)
  expect(sent(socket)).toEqual({})
  expect(sent(socket, 'Bearer abc')).toEqual({ bearerToken: 'abc' })
})
