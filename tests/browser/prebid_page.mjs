// The Prebid.js of the test page: core, the server adapter, and two adapters that speak plain OpenRTB.
import pbjs from 'prebid.js';
import 'prebid.js/modules/prebidServerBidAdapter.js';
import 'prebid.js/modules/goadserverBidAdapter.js';
import 'prebid.js/modules/adkernelBidAdapter.js';

pbjs.processQueue();
window.pbjs = pbjs;
