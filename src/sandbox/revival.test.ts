import { expect, test } from 'vitest'
import { absentPod, type PodState } from './cluster/cluster-state.ts'
import { REVIVAL_MS, Revival } from './run-live.ts'

function pod(name: string, ready: boolean): PodState {
  return { ...absentPod(name), ready }
}

test('a dead pod is started once, after its time', () => {
  const revival = new Revival()
  const pods = [pod('pod-1', true), pod('pod-2', false)]
  expect(revival.due(pods, 0)).toEqual([])
  expect(revival.due(pods, REVIVAL_MS - 1)).toEqual([])
  expect(revival.due(pods, REVIVAL_MS)).toEqual(['pod-2'])
  expect(revival.due(pods, REVIVAL_MS + 1)).toEqual([])
})

test('a pod that an operator started begins anew', () => {
  const revival = new Revival()
  revival.due([pod('pod-1', false)], 0)
  revival.due([pod('pod-1', true)], 1000)
  expect(revival.due([pod('pod-1', false)], REVIVAL_MS)).toEqual([])
  expect(revival.due([pod('pod-1', false)], 2 * REVIVAL_MS)).toEqual(['pod-1'])
})
