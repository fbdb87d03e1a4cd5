// Packages that samples of docs import, and that are not installed here.
declare module '@temporalio/activity' {
  export class Context {
    static current(): Context
    readonly info: {
      activityId: string
      workflowExecution: { workflowId: string; runId: string }
    }
    readonly cancellationSignal: AbortSignal
    readonly heartbeat: (details?: unknown) => void
  }
}
