import type { Page } from 'playwright-core'

/** The frames and tasks of the page since it was opened. */
export interface Frames {
  /** Time that the page's scripts, styles and layout took for a frame: the 99th percentile. */
  readonly frameP99Ms: number
  /** The longest task; 0: none took 50 ms. */
  readonly longestTaskMs: number
}

/** Makes every document of a page record its frames from the start. */
export async function recordFrames(page: Page): Promise<void> {
  await page.addInitScript(RECORD)
}

export function readFrames(page: Page): Promise<Frames> {
  return page.evaluate<Frames>(READ)
}

/** Scripts for the browser, as text because this project does not have the types of browsers. */
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
