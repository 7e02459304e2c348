// A page that was opened from disk may not start a Worker, and the search is one. Here a hidden frame runs its script.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.frame = frame.contentWindow;
      this.ready = new Promise((loaded) => this.#fill(frame.contentDocument, url, loaded));
      addEventListener("message", (event) => {
        if (event.source !== this.frame) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      });
    }

    #fill(document, url, loaded) {
      this.send = this.frame.postMessage.bind(this.frame);
      this.frame.importScripts = (...urls) => urls.reduce((before, next) => before.then(() => run(next)), Promise.resolve());
      const run = (source) => new Promise((done) => {
        const script = document.createElement("script");
        script.src = source;
        script.onload = done;
        document.body.append(script);
      });
      const prelude = document.createElement("script");
      prelude.textContent = "postMessage = (data) => parent.postMessage(data, '*');";
      document.body.append(prelude);
      run(url).then(loaded);
    }

    postMessage(data) {
      this.ready.then(() => this.send(data, "*"));
    }

    terminate() {
      this.frame.frameElement.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
