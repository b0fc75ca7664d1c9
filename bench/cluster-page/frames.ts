import type { Page } from 'playwright-core'

/** What the page did since it was opened. */
export interface Frames {
  /** Time that the page's scripts, styles and layout took for a frame: the 99th percentile. */
  readonly frameP99Ms: number
  /** The longest task; 0: none took 50 ms. */
  readonly longestTaskMs: number
}

/** Has every document of a page count from its start. */
export async function recordFrames(page: Page): Promise<void> {
  await page.addInitScript(RECORD)
}

export function readFrames(page: Page): Promise<Frames> {
  return page.evaluate<Frames>(READ)
}

/** They run in the browser, whose types this project has not. */
const RECORD = `(() => {
  const recorded = { frames: [], longestTaskMs: 0 }
  globalThis.recordedFrames = recorded
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      recorded.longestTaskMs = Math.max(recorded.longestTaskMs, duration)
    }
  }).observe({ type: 'longtask', buffered: true })
  const step = (start) => {
    const channel = new MessageChannel()
    channel.port1.onmessage = () => {
      recorded.frames.push(performance.now() - start)
      requestAnimationFrame(step)
    }
    channel.port2.postMessage(null)
  }
  requestAnimationFrame(step)
})()`

const READ = `(() => {
  const { frames, longestTaskMs } = globalThis.recordedFrames
  const sorted = frames.toSorted((a, b) => a - b)
  return { frameP99Ms: sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)], longestTaskMs }
})()`
