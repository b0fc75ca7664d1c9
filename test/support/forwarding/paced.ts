const TICK_MS = 2

/** Runs a task `perSecond` times a second, evenly. Returns a function that stops it. */
export function paced(perSecond: number, task: () => void): () => void {
  const begin = performance.now()
  let done = 0
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - begin) / 1_000) * perSecond)
    for (; done < due; done++) task()
  }, TICK_MS)
  return () => clearInterval(timer)
}

/** Runs a task `times` times, evenly; resolves after the last run. */
export function pacedTimes(times: number, perSecond: number, task: () => void): Promise<void> {
  return new Promise((resolve) => {
    let left = times
    const stop = paced(perSecond, () => {
      if (left-- > 0) task()
      if (left > 0) return
      stop()
      resolve()
    })
  })
}
